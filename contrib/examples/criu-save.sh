#!/bin/bash
# criu-save.sh - the program of --ckpt=cmd: that saves a program with CRIU
#
# egs-noded runs it as the user of the job, on each node.  What is saved is the
# program that criu.sbatch has started, with all its children.  CRIU needs more
# rights than a user has: CRIU is how the site lets its users call it, by default
# "sudo -n criu".  Programs that use a GPU give its memory to the host first,
# where NVIDIA's cuda-checkpoint is installed.

set -e
read -r pid <"program.$EGS_JOB_ID"
criu=${CRIU:-sudo -n criu}

# cuda PID...: those of them that use a GPU
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
# It stays stopped until the job is requeued: what it did now would be lost.
# shellcheck disable=SC2086 # a command with arguments
exec $criu dump --tree "$pid" --images-dir "$EGS_CKPT_DIR" --leave-stopped \
	--log-file dump.log
