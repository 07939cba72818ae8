#!/bin/sh
# told.sh - a job whose script and step print their EGS_ variables
cat >"$HOME/told.$SLURM_JOB_ID" <<'END'
echo "$1: ${EGS_PHASE-none} ${EGS_TIER-none} ${EGS_WORKLOAD-none} ${EGS_RESUME-none}"
END
sh "$HOME/told.$SLURM_JOB_ID" batch
srun -n1 sh "$HOME/told.$SLURM_JOB_ID" step
