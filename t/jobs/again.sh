#!/bin/sh
# again.sh - a job that waits to be requeued and prints its restart count
if [ -z "$SLURM_RESTART_COUNT" ]; then
	echo first
	exec sleep 600
fi
echo "again $EGS_RESUME"
