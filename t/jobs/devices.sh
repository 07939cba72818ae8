#!/bin/bash
# devices.sh - a resized job that prints which GPUs each of its steps can open
#
# Continues when there is ~/more, and ends when there is ~/stop.
# shellcheck disable=SC2016 # for the shell of a step
can='for i in 0 1 2 3; do
	(exec 3</dev/nvidia$i) 2>/dev/null && printf " %s" "$i"
done; true'

# try WORD GPUS: print what a step with GPUS can open
try()
{
	echo "$1:$(srun --ntasks=1 --cpus-per-task=1 --exact --mem=10 \
		"--gres=gpu:$2" bash -c "$can")"
}

try four 4
try two 2
exec 3</dev/nvidia0 4</dev/nvidia1
egs phase infer --gpus=1 || echo "refused:$(bash -c "$can")"
exec 3<&- 4<&-
eval "$(egs phase infer --gpus=1)" || exit
echo "early:$(bash -c "$can")"
try one 1
echo "batch:$(bash -c "$can")"
until [ -e ~/more ]; do
	sleep 0.2
done
eval "$(egs phase retrain --gpus=4)" || exit
try again 4
echo "grown:$(bash -c "$can")"
until [ -e ~/stop ]; do
	sleep 0.2
done
