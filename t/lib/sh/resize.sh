# shellcheck shell=bash disable=SC2016,SC2154 # cluster.sh
# resize.sh - jobs whose GPUs change hands, beside cluster.sh and yield.sh
#
#   at_work COMMAND...	the job it submits, once it runs
#   steps_run JOB	one does, beside the batch script's
#   tells JOB LINE	until the job has printed it
#   words_in JOB WORDS...	egs, as alice would say it in the job
#   has_request JOB LINE	its request on n1 has this line; it is in $notes/request
#   no_request JOB	it has none
#   may_begin JOB	in two seconds, after a requeue
#   openable		anybody can open the GPUs of n1, which has four

at_work()
{
	local id

	id=$("$@") || return
	wait_state "$id" RUNNING >&2 || {
		as root scontrol show node -d >&2
		return 1
	}
	echo "$id"
}

steps_run()
{
	as root squeue -h -s -j "$1" -o %i | grep -q '\.[0-9]'
}

has_told()
{
	output "$1" | grep -qx "$2"
}

tells()
{
	wait_until 90 "job $1 prints '$2'" has_told "$1" "$2" || {
		output "$1"
		return 1
	}
}

words_in()
{
	as alice env SLURM_JOB_ID="$1" SLURM_RESTART_COUNT=0 \
		/opt/egs/bin/egs "${@:2}"
}

has_request()
{
	as root cat "/run/egs-node/n1/$1/request" >"$notes/request" 2>&1 &&
	grep -qx "$2" "$notes/request"
}

no_request()
{
	words_in "$1" wait-request --timeout=0s >"$notes/request"
	[ $? -eq 3 ]
}

# Slurm lets it wait after a requeue, and slurmdbd before an update.
may_begin()
{
	as root scontrol update JobId="$1" StartTime=now+2
}

# Without a driver nobody can open a GPU: these are zero, full, random, urandom.
openable()
{
	as root sh -c 'n=0
	for minor in 5 7 8 9; do
		rm /dev/nvidia$n && mknod -m 666 /dev/nvidia$n c 1 $minor || exit
		n=$((n + 1))
	done'
}
