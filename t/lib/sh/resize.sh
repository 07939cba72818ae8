# shellcheck shell=bash disable=SC2016,SC2154 # cluster.sh
# resize.sh - words of tests about live resize, beside cluster.sh, preempt.sh
#
#   once_running CMD...	run CMD, which submits a job; wait until the job runs;
#	print its id
#   has_running_step JOB	a step runs beside the batch script
#   wait_output JOB REGEX	wait until output_has
#   egs_in_job JOB WORD...	run egs as alice, as if inside the job
#   has_notice JOB LINE	the preemption notice of JOB on n1 has this line; the
#	notice is in $notes/request
#   has_no_notice JOB	"egs wait-request" finds no notice
#   start_soon JOB	let a requeued job start in two seconds
#   make_gpus_openable	create devices for the four GPUs of n1 that all may open

once_running()
{
	local id

	id=$("$@") || return
	wait_state "$id" RUNNING >&2 || {
		as root scontrol show node -d >&2
		return 1
	}
	echo "$id"
}

has_running_step()
{
	as root squeue -h -s -j "$1" -o %i | grep -q '\.[0-9]'
}

wait_output()
{
	wait_until 90 "job $1 prints '$2'" output_has "$1" "$2" || {
		output "$1"
		return 1
	}
}

egs_in_job()
{
	as alice env SLURM_JOB_ID="$1" SLURM_RESTART_COUNT=0 \
		/opt/egs/bin/egs "${@:2}"
}

has_notice()
{
	as root cat "/run/egs-node/n1/$1/dir/request" >"$notes/request" 2>&1 &&
	grep -qx "$2" "$notes/request"
}

has_no_notice()
{
	egs_in_job "$1" wait-request --timeout=0s >"$notes/request"
	[ $? -eq 3 ]
}

# Slurm delays a requeued job, and slurmdbd delays the update.
start_soon()
{
	as root scontrol update JobId="$1" StartTime=now+2
}

# Without a driver a GPU cannot be opened, so these are the devices zero, full,
# random and urandom.
make_gpus_openable()
{
	as root sh -c 'n=0
	for minor in 5 7 8 9; do
		rm /dev/nvidia$n && mknod -m 666 /dev/nvidia$n c 1 $minor || exit
		n=$((n + 1))
	done'
}
