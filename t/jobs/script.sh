#!/bin/sh
# script.sh - a job with all of its hint in the script
#SBATCH --phase=training --tier=bronze
#SBATCH --egs=workload=cats
echo "$EGS_PHASE $EGS_TIER $EGS_WORKLOAD"
