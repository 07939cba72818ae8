# shellcheck shell=bash disable=SC2154 # cluster.sh
# preempt.sh - words of stories about who yields to whom, beside cluster.sh
#
#   restarts JOB...	how often each was requeued, in one line
#   explains USER JOB WORDS	until "egs why" says so
#   asked JOB, spared JOB	Slurm has asked it to go, or not any more
#   has_left JOB	it has left its nodes
#   tested JOB	the scheduler looks at it and leaves it in the queue
#   gpus JOB	their numbers, as in "0-2"
#   egsctl WORD...	as root
#   all_gone USER	cancel what USER has, and wait until it is gone
#   clear_queue	the same of every user

# restarts JOB...: how often each was requeued, in one line
restarts()
{
	local job

	for job in "$@"; do
		job_field "$job" Restarts
	done | paste -s -d ' '
}

asked()
{
	[ "$(job_field "$1" PreemptTime)" != None ]
}

spared()
{
	! asked "$1"
}

# why USER JOB WORDS: so says "egs why"
why()
{
	as "$1" /opt/egs/bin/egs why "$2" >"$notes/why" 2>&1
	grep -q "$3" "$notes/why"
}

explains()
{
	wait_until 60 "egs why $2 says $3" why "$@" || {
		cat "$notes/why"
		return 1
	}
}

# tested JOB: the scheduler looked at it and left it in the queue.  Several
# times, before a story says that nothing happens.
tested()
{
	wait_until 60 "job $1 waits for resources" held_up "$1" && sleep 5 &&
	job_is "$1" PENDING
}

held_up()
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

has_left()
{
	! job_field "$1" JobState | grep -qE 'RUNNING|COMPLETING|PENDING'
}

all_gone()
{
	as root scancel --user="$1" && wait_until 60 "$1 has no jobs" no_jobs "$1"
}

no_jobs()
{
	[ -z "$(as root squeue -h -u "$1")" ]
}

clear_queue()
{
	local user

	for user in alice bob carol dave; do
		as root scancel --user="$user" || return
	done
	wait_all_gone 90
}
