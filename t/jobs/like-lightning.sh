#!/bin/bash
# like-lightning.sh - saves on USR1 to the steps and requeues itself
#SBATCH --signal=SIGUSR1@90
mkdir -p "$HOME/run-$SLURM_JOB_ID"
srun /srv/egs/t/jobs/trainer.sh USR1 1 \
	sh -c "scontrol requeue $SLURM_JOB_ID; exec sleep 600"
