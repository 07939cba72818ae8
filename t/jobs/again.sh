#!/bin/sh
# again.sh - a job that waits to be requeued and prints its restart count
if [ "${SLURM_RESTART_COUNT:-0}" -eq 0 ]; then
	echo first
	exec sleep 600
fi
echo "again $EGS_RESUME"
