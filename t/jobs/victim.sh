#!/bin/bash
# victim.sh - runs until its user makes ~/go; CMD... as soon as it is asked
trap 'echo asked; "$@"' USR1
echo "run ${SLURM_RESTART_COUNT:-0}"
until [ -e "$HOME/go" ]; do
	sleep 0.2
done
