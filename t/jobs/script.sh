#!/bin/sh
# script.sh - a job whose script says all about itself
#SBATCH --phase=training --tier=bronze
#SBATCH --egs=workload=cats
echo "$EGS_PHASE $EGS_TIER $EGS_WORKLOAD"
