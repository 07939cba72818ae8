#!/bin/bash
# trainer.sh - the training loop of the other scripts: SIGNAL SECONDS CMD...
#
# A step takes a tenth of a second and ends with its number in the file work.
# On SIGNAL the loop saves, which takes SECONDS, and executes CMD.  With ~/enough
# it ends.  The checkpoint is the number of the last step, so work has a number
# twice if a step was lost, and lacks one if a step was skipped.  $SHARD selects
# the files of a rank.
cd "$HOME/run-$SLURM_JOB_ID" || exit
step=$(cat "ckpt$SHARD" 2>/dev/null || echo 0)
asked=
trap 'asked=1' "$1"
until [ -e "$HOME/enough" ]; do
	step=$((step + 1))
	sleep 0.1
	echo "$step" >>"work$SHARD"
	if [ -n "$asked" ]; then
		trap '' "$1"
		sleep "$2"
		echo "$step" >".ckpt$SHARD" && mv ".ckpt$SHARD" "ckpt$SHARD"
		exec "${@:3}"
	fi
done 2>/dev/null
