#!/bin/bash
# like-shards.sh - four ranks on two nodes save a shard each, the last is slow
#SBATCH --signal=USR1@60 --egs=acks=all -N2 --ntasks-per-node=2
mkdir -p "$HOME/run-$SLURM_JOB_ID"
# shellcheck disable=SC2016 # in each rank
srun sh -c 'SHARD=-$SLURM_PROCID exec /srv/egs/t/jobs/trainer.sh USR1 \
	"$((SLURM_PROCID / 3 * 2))" sh -c \
	"/opt/egs/bin/egs yield --rank=$SLURM_PROCID; exec sleep 600"'
