#!/bin/bash
# asked.sh - a job that runs until there is ~/go, or runs CMD... with ~/leave
#
# Prints its restart count, and "asked" on its signal.  After a restart it runs
# until there is ~/go.
trap 'echo asked' USR1
echo "run ${SLURM_RESTART_COUNT:-0} resume=$EGS_RESUME last=$EGS_LAST_CKPT"
until [ -e "$HOME/go" ]; do
	[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || [ ! -e "$HOME/leave" ] || "$@"
	sleep 0.2
done
