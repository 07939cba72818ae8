#!/bin/bash
# asked.sh - runs until its user makes ~/go, or CMD... once there is ~/leave
#
# It says how often it was restarted, and that it was asked to leave.  When it
# runs again it stays until there is ~/go.
trap 'echo asked' USR1
echo "run ${SLURM_RESTART_COUNT:-0} resume=$EGS_RESUME last=$EGS_LAST_CKPT"
until [ -e "$HOME/go" ]; do
	[ -n "$SLURM_RESTART_COUNT" ] || [ ! -e "$HOME/leave" ] || "$@"
	sleep 0.2
done
