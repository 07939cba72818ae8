#!/bin/sh
# infer.sh - a job with its phase in the script
#SBATCH --phase=infer
echo "phase=${EGS_PHASE-none}"
