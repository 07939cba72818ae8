# shellcheck shell=bash disable=SC2154 # cluster.sh
# preempt.sh - words of tests about preemption, beside cluster.sh
#
#   restarts JOB...	print how often each was requeued, in one line
#   wait_why USER JOB REGEX	wait until "egs why" prints REGEX
#   is_being_preempted JOB	Slurm has chosen it as a victim (PreemptTime)
#   is_not_being_preempted JOB	Slurm has not, or the preemption was withdrawn
#   has_ended JOB	the job has released its nodes and is not pending
#   waits_for_resources JOB	Reason= is Resources or Priority
#   wait_scheduling_cycles N	N more cycles of the main scheduler and backfill
#   expect_pending_after_scheduling JOB	the schedulers consider JOB in several
#	cycles and do not start it
#   gpus JOB	print the indices of its GPUs, as in "0-2"
#   egsctl WORD...	as root
#   job_of USER GPUS [OPTION]...	submit a job that can checkpoint
#   cancel_jobs_of USER	cancel the jobs of USER and wait until they are gone
#   cancel_all_jobs	cancel the jobs of every user and wait

job_of()
{
	submit "--user=$1" "--gres=gpu:a100:$2" "--cpus-per-task=$2" --mem=100 \
		--ckpt=file "${@:3}" hold.sh
}

restarts()
{
	local job

	for job in "$@"; do
		job_field "$job" Restarts
	done | paste -s -d ' '
}

# Slurm shows no such time of a job that cannot be preempted at present.
is_being_preempted()
{
	job_field "$1" PreemptTime | grep -q "^[0-9]"
}

is_not_being_preempted()
{
	! is_being_preempted "$1"
}

why_says()
{
	as "$1" /opt/egs/bin/egs why "$2" >"$notes/why" 2>&1
	grep -q "$3" "$notes/why"
}

wait_why()
{
	wait_until 60 "egs why $2 says $3" why_says "$@" || {
		cat "$notes/why"
		return 1
	}
}

expect_pending_after_scheduling()
{
	wait_until 60 "job $1 waits for resources" waits_for_resources "$1" &&
	wait_scheduling_cycles 3 && job_is "$1" PENDING
}

wait_scheduling_cycles()
{
	local main backfill

	main=$(scheduling_cycles Main) &&
	backfill=$(scheduling_cycles Backfilling) &&
	wait_until 90 "$1 cycles of both schedulers" \
		cycles_reach $((main + $1)) $((backfill + $1))
}

# scheduling_cycles Main|Backfilling: how many there were since the start
scheduling_cycles()
{
	as root sdiag | sed -n "/^$1/,\$s/.*Total cycles: *//p" | head -n 1
}

# Backfill starts no cycle while nothing changes, so change a job: a running one,
# if there is any.
cycles_reach()
{
	local job

	job=$(as root sh -c 'squeue -h -t RUNNING -o %A; squeue -h -o %A' |
		head -n 1) &&
	{ [ -z "$job" ] || as root scontrol update "jobid=$job" comment=tick; } &&
	[ "$(scheduling_cycles Main)" -ge "$1" ] &&
	[ "$(scheduling_cycles Backfilling)" -ge "$2" ]
}

waits_for_resources()
{
	job_field "$1" Reason | grep -qE 'Resources|Priority'
}

gpus()
{
	as root scontrol show job -d "$1" |
		sed -n 's/.* CPU_IDs=.*gpu:a100:[0-9]*(IDX:\([^)]*\)).*/\1/p'
}

egsctl()
{
	as root /opt/egs/sbin/egsctl "$@"
}

has_ended()
{
	! job_field "$1" JobState | grep -qE 'RUNNING|COMPLETING|PENDING'
}

cancel_jobs_of()
{
	as root scancel --user="$1" && wait_until 60 "$1 has no jobs" no_jobs "$1"
}

no_jobs()
{
	[ -z "$(as root squeue -h -u "$1")" ]
}

cancel_all_jobs()
{
	local user

	for user in alice bob carol dave; do
		as root scancel --user="$user" || return
	done
	wait_queue_empty 90
}
