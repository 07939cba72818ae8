#!/bin/bash
# like-submitit.sh - saves on USR2 to the steps, requeues itself and exits 255
#SBATCH --signal=USR2@90
mkdir -p "$HOME/run-$SLURM_JOB_ID"
srun /srv/egs/t/jobs/trainer.sh USR2 1 \
	sh -c "scontrol requeue $SLURM_JOB_ID; exit 255"
