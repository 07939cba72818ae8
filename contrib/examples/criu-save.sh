#!/bin/bash
# criu-save.sh - save program for --ckpt=cmd: that saves a process tree with CRIU
#
# egs-noded runs it as the user of the job, on each node.  It saves the program
# that criu.sbatch has started, with all its children.  CRIU needs more rights
# than a user has: set CRIU to the command that the site provides, by default
# "sudo -n criu".  If NVIDIA's cuda-checkpoint is installed, programs that use a
# GPU first move their GPU memory to the host.

set -e
read -r pid <"program.$EGS_JOB_ID"
criu=${CRIU:-sudo -n criu}

# cuda PID...: print those that use a GPU, and move their memory to the host
cuda()
{
	local p

	command -v cuda-checkpoint >/dev/null || return 0
	for p in "$@"; do
		cuda-checkpoint --toggle --pid "$p" >/dev/null 2>&1 && echo "$p"
	done
}

# shellcheck disable=SC2086 # a list of numbers
cuda $EGS_PIDS >"$EGS_CKPT_DIR/cuda"
# The program stays stopped until the job is requeued: later work would be lost.
# shellcheck disable=SC2086 # a command with arguments
exec $criu dump --tree "$pid" --images-dir "$EGS_CKPT_DIR" --leave-stopped \
	--log-file dump.log
