#!/bin/bash
# live.sh - a job with phases: trains, serves, trains again beside the server
#
# Continues when there is ~/data, and prints its GPUs in each phase.
# shellcheck disable=SC2016 # for the shell of a step
say()
{
	echo "$1: gpus $CUDA_VISIBLE_DEVICES cpus $SLURM_CPUS_ON_NODE $EGS_PHASE"
}

step()
{
	srun --ntasks=1 --cpus-per-task=1 --exact --mem=100 "--gres=gpu:$1" \
		bash -c "$2"
}

say begin
step 4 'echo "train: gpus $CUDA_VISIBLE_DEVICES"' || exit
eval "$(egs phase infer)" || exit
say serve
step 1 'echo "server: gpus $CUDA_VISIBLE_DEVICES"
	until [ -e ~/stop ]; do sleep 0.2; done' &
server=$!
until [ -e ~/data ]; do
	sleep 0.2
done
eval "$(egs phase retrain --timeout=2h)" || exit
say retrain
step 3 'echo "beside: gpus $CUDA_VISIBLE_DEVICES"' || exit
eval "$(egs phase infer)" || exit
say again
wait "$server"
