# shellcheck shell=bash disable=SC2154 # tree.sh
# job_messages.sh - for tests of what runs in a job: a run directory, a stand-in
#
# Sourced behind tree.sh; the test goes on in $tmp, with job/ for a run
# directory.
#
#   make_rundir		with nothing asked, for a job 7, and everything answered
#			with what is in job/answer
#   heard WORDS		the stand-in was told what is on stdin, but for ids and
#			times
#   without_id		messages on stdin without those

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

heard()
{
	cat >want
	without_id <job/asked >got
	does "$1" diff want got
	rm -f job/asked
}
