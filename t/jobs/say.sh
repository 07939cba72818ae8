#!/bin/sh
# say.sh - a job whose script and step print their phase and GPUs
cat >"$HOME/say.$SLURM_JOB_ID" <<'END'
echo "$1: phase=${EGS_PHASE-none} gpus=${CUDA_VISIBLE_DEVICES-none}"
END
sh "$HOME/say.$SLURM_JOB_ID" batch
srun -n1 sh "$HOME/say.$SLURM_JOB_ID" step
