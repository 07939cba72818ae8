#!/bin/bash
# like-bash.sh - a plain script with trap and wait that exits with 99
#SBATCH --signal=B:USR1@60
mkdir -p "$HOME/run-$SLURM_JOB_ID"
trap 'kill -USR1 "$pid"; wait "$pid"; exit 99' USR1
/srv/egs/t/jobs/trainer.sh USR1 1 true & pid=$!
wait "$pid"
