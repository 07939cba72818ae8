#!/bin/sh
# rundir.sh - a job that says where its run directories are, then holds
echo "batch $EGS_RUNDIR"
# shellcheck disable=SC2016  # for the shell of each task
srun sh -c 'echo "$SLURMD_NODENAME $EGS_RUNDIR"'
exec /srv/egs/t/jobs/hold.sh
