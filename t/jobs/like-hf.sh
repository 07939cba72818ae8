#!/bin/bash
# like-hf.sh - HF Trainer: on TERM waits for 3 s, saves and exits
#SBATCH --ckpt=signal:TERM
mkdir -p "$HOME/run-$SLURM_JOB_ID"
srun /srv/egs/t/jobs/trainer.sh TERM 3 true
