#!/bin/bash
# victim.sh - a job that runs until there is ~/go, and CMD... on its signal
trap 'echo asked; "$@"' USR1
echo "run ${SLURM_RESTART_COUNT:-0}"
until [ -e "$HOME/go" ]; do
	sleep 0.2
done
