#!/bin/bash
# train.sh - a job in plain bash that saves when it is asked to, and resumes
#
# usage: sbatch train.sh [STEPS [STATE]]
#
# The work is a counter, so that it runs anywhere.  Put your program in the
# place of one_step, or start it in the background and pass the request on to
# it.  Without EGS that needs RequeueExit=99 in slurm.conf.
#SBATCH --job-name=train --gres=gpu:1 --phase=train
#SBATCH --signal=B:USR1@60 --open-mode=append --egs=exit=yield

steps=${1:-1000}
state=${2:-train.state}
step=0
asked=

# A checkpoint is whole or it is not there: write aside, then rename.
save()
{
	echo "$step" >"$state.new" && sync "$state.new" &&
		mv "$state.new" "$state" && echo "saved at step $step"
}

# say WORD...: to EGS, where there is one.
say()
{
	command -v egs >/dev/null && egs "$@"
}

# A signal interrupts "wait", not a program in the foreground.
one_step()
{
	sleep 0.2 &
	wait $!
	step=$((step + 1))
}

# --signal above: USR1 comes when the GPUs are wanted, and 60 s before the
# time limit.
trap asked=yes USR1

if [ -r "$state" ]; then
	step=$(cat "$state")
fi
echo "begins at step $step"
while [ "$step" -lt "$steps" ]; do
	one_step
	if [ -n "$asked" ]; then
		save || exit 1
		say yield --path="$PWD/$state"
		exit 99
	fi
	if [ $((step % 100)) -eq 0 ]; then
		save && say saved --path="$PWD/$state" --step="$step"
	fi
done
say finished
echo "done after $step steps"
