# shellcheck shell=bash disable=SC2154 # tree.sh
# job_messages.sh - for tests of programs in a job: a run directory, a stand-in
#
# Source it after tree.sh.  The test continues in $tmp; job/ is the run
# directory.
#
#   make_rundir		for job 7, without a notice; the stand-in for egs-noded
#			answers each message with the content of job/answer
#   received TITLE	expect stdin as the messages that the stand-in received,
#			without ids and times
#   without_id		filter: remove ids and times from messages

cd "${tmp:?}" || exit 1

make_rundir()
{
	mkdir -p job/in job/out
	printf 'egsflag1%056d' 0 | tr 0 '\0' >job/flag
	echo '{"ok":true}' >job/answer
	export EGS_RUNDIR=$tmp/job SLURM_JOB_ID=7
	"$srcdir/t/lib/fake/fake-noded" "$tmp/job" &
	noded=$!
	trap 'kill $noded; rm -rf "$tmp"' EXIT
}

without_id()
{
	sed 's/"id": *"[0-9a-f]\{16\}", *//; s/, *"at": *[0-9]*//'
}

received()
{
	cat >want
	without_id <job/asked >got
	does "$1" diff want got
	rm -f job/asked
}
