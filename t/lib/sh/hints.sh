# shellcheck shell=bash
# hints.sh - hints of jobs in the current cluster, beside cluster.sh
#
#   stamp_is JOB HINT	the job's AdminComment is a stamp with HINT and a nonce,
#	and perhaps the word that its team has a limit
#   refuses SENTENCE CMD...	CMD fails and prints SENTENCE
#   requeued_starts_soon JOB	wait until JOB is requeued, then shorten the two
#	minutes that Slurm delays it

stamp_is()
{
	job_field "$1" AdminComment >comment &&
	sed -n 's/^egs:1;\(.*;\)\{0,1\}id=[0-9a-f]\{16\}\(;limited\)\{0,1\}$/\1/p' comment >found &&
	echo "$2${2:+;}" >wanted || return
	test_cmp wanted found || { cat comment; return 1; }
}

refuses()
{
	test_must_fail "${@:2}" >said.out 2>&1
	grep -F -e "$1" said.out || { cat said.out; return 1; }
}

# The update fails if the daemon has already let the job start.
requeued_starts_soon()
{
	wait_until 90 "job $1 is requeued" was_requeued "$1" || return
	as root scontrol update "job=$1" starttime=now+5 ||
		! job_is "$1" PENDING
}

was_requeued()
{
	[ "$(job_field "$1" Restarts)" = 1 ]
}
