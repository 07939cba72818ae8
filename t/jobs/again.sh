#!/bin/sh
# again.sh - a job that waits to be requeued, and then says what it is told
if [ -z "$SLURM_RESTART_COUNT" ]; then
	echo first
	exec sleep 600
fi
echo "again $EGS_RESUME"
