#!/bin/bash
# speak.sh - a job that sends messages to EGS as soon as it runs
# shellcheck disable=SC2016 # what is in single quotes is for a command
cd "$HOME" || exit 1
echo "begins in $(egs phase)"
eval "$(egs phase Inference)" || exit 9
echo "goes on in $EGS_PHASE"
egs phase retrain -- sh -c 'echo "a command in $EGS_PHASE"'
eval "$(egs phase no-such-phase)"
echo "no such phase: $?"
egs saved --path=ckpt/last.pt --step=40 && echo saved
egs progress 0.4 && echo progress
egs should-yield
echo "should yield: $?"
egs yield
echo "yield: $?"
srun -n2 egs saved --step=41 && echo 'saved by its steps'
egs finished && echo finished
touch "$HOME/spoken.$SLURM_JOB_ID"
until [ -e "$HOME/go" ]; do
	sleep 0.2
done
