# shellcheck shell=bash
# hints.sh - hints of jobs in the current cluster, beside cluster.sh
#
#   stamp_is JOB HINT	its AdminComment has just this, and a nonce
#   refuses SENTENCE CMD...	CMD fails and says so
#   output_has JOB LINE	the job has printed this line
#   back_soon JOB	it was requeued, and need not wait two minutes

stamp_is()
{
	job_field "$1" AdminComment >comment &&
	sed -n 's/^egs:1;\(.*;\)\{0,1\}id=[0-9a-f]\{16\}$/\1/p' comment >found &&
	echo "$2${2:+;}" >wanted || return
	test_cmp wanted found || { cat comment; return 1; }
}

refuses()
{
	test_must_fail "${@:2}" >said.out 2>&1
	grep -F -e "$1" said.out || { cat said.out; return 1; }
}

output_has()
{
	output "$1" 2>/dev/null | grep -qx "$2"
}

# The daemon may have seen to that already.
back_soon()
{
	wait_until 90 "job $1 is requeued" was_requeued "$1" || return
	as root scontrol update "job=$1" starttime=now+5 ||
		! job_is "$1" PENDING
}

was_requeued()
{
	[ "$(job_field "$1" Restarts)" = 1 ]
}
