#!/bin/bash
# like-megatron.sh - on TERM saves at the next step and exits 0
#SBATCH --signal=TERM@120
mkdir -p "$HOME/run-$SLURM_JOB_ID"
srun /srv/egs/t/jobs/trainer.sh TERM 0 true
