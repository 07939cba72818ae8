#!/bin/bash
# asked.sh - runs until its user makes ~/go, or CMD... once there is ~/leave
#
# It says how often it was restarted, and that it was asked to leave.
trap 'echo asked' USR1
echo "run ${SLURM_RESTART_COUNT:-0} resume=$EGS_RESUME"
until [ -e "$HOME/go" ] || [ -e "$HOME/leave" ]; do
	sleep 0.2
done
[ -e "$HOME/go" ] || "$@"
