#!/bin/bash
# submitit.sh - what submitit writes for slurm_additional_parameters={"phase":
# "train", "tier": "scavenge"}

# Parameters
#SBATCH --gpus-per-node=1
#SBATCH --job-name=submitit
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --open-mode=append
#SBATCH --phase=train
#SBATCH --signal=USR2@90
#SBATCH --tier=scavenge
#SBATCH --time=60
#SBATCH --wckey=submitit

# command
export SUBMITIT_EXECUTOR=slurm
srun --unbuffered python -u -m submitit.core._submit .
