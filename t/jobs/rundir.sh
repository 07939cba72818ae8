#!/bin/sh
# rundir.sh - a job that prints its run and its run directories, then holds
echo "run ${SLURM_RESTART_COUNT:-0} resume=$EGS_RESUME last=$EGS_LAST_CKPT"
echo "batch $EGS_RUNDIR"
# shellcheck disable=SC2016  # for the shell of each task
srun sh -c 'echo "$SLURMD_NODENAME $EGS_RUNDIR"'
exec /srv/egs/t/jobs/hold.sh
