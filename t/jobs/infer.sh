#!/bin/sh
#SBATCH --phase=infer
# infer.sh - a job whose script says its phase
echo "phase=${EGS_PHASE-none}"
