#!/bin/sh
# counts.sh - a job that counts on each of its nodes and saves nothing itself
#
# Continues from the checkpoint of a save program, in $EGS_LAST_CKPT, and ends
# when there is ~/go.
# shellcheck disable=SC2016  # for the shell of each task
exec srun sh -c '
	n=0
	at=counter.$SLURM_JOB_ID.$SLURMD_NODENAME
	[ -z "$EGS_LAST_CKPT" ] || n=$(cat "$EGS_LAST_CKPT/$SLURMD_NODENAME")
	echo "run ${SLURM_RESTART_COUNT:-0} on $SLURMD_NODENAME from $n"
	until [ -e "$HOME/go" ]; do
		n=$((n + 1))
		echo "$n" >"$at.new" && mv "$at.new" "$at"
		sleep 0.2
	done'
