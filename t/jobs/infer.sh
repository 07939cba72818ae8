#!/bin/sh
# infer.sh - a job whose script says its phase
#SBATCH --phase=infer
echo "phase=${EGS_PHASE-none}"
