#!/bin/bash
# like-torchrun.sh - an agent that sends TERM on to its worker, and exits 1
#SBATCH --signal=TERM@60
mkdir -p "$HOME/run-$SLURM_JOB_ID"
srun /srv/egs/t/jobs/agent.sh
