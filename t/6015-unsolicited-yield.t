#!/bin/bash
# 6015-unsolicited-yield.t - unsolicited yields, stale yields, and many preemptions
# long: 150 s, a cluster for each Slurm, one job is preempted seven times
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='yields without a notice, stale yields, and many preemptions of one job'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/noded.sh"
. "$srcdir/t/lib/sh/preempt.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,research,hasty
PollInterval=1s
GpuType=a100
Tier=prod Partitions=serve MinRuntime=0s
Tier=research MinRuntime=0s MaxPreemptions=none GraceMin=300s GraceMax=300s
Tier=hasty MinRuntime=0s MaxPreemptions=none GraceMin=5s GraceMax=5s
Team=fraud Users=alice Quota=none DefaultTier=research
Team=vision Users=bob Quota=a100:2 DefaultTier=prod
END

# saver [OPTION]... SCRIPT [ARGUMENT]...: start a job of alice
saver()
{
	local job

	job=$(submit --signal=B:USR1@60 --gres=gpu:a100:2 "$@") &&
	wait_state "$job" RUNNING >&2 && echo "$job"
}

requester()
{
	submit --user=bob --partition=serve --gres=gpu:a100:2 hold.sh
}

# preempted_for JOB REQUESTER: Slurm preempts JOB, and egs why names REQUESTER
preempted_for()
{
	wait_until 60 "Slurm preempts job $1" is_being_preempted "$1" &&
	wait_why alice "$1" "job $2 needs its 2 a100"
}

# ledger JOB FIELDS: the row of JOB in the report of preemptions
ledger()
{
	as root /opt/egs/bin/egs-report preemptions -n -P -o "jobid,$2" |
		grep "^$1|"
}

check_without_notice()
{
	test_expect_success "$version: a hundred yields without a notice are refused" '
		job=$(saver --tier=hasty wolf.sh) &&
		wait_until 90 "all yields are sent" as alice test -e refused &&
		test "$(as alice cat refused)" = 100 &&
		output "$job" | grep "has no preemption notice" &&
		output "$job" | grep "too many .egs yield. without a preemption notice"
	'
	test_expect_success "$version: yields without a notice change nothing" '
		job_is "$job" RUNNING && test "$(restarts "$job")" = 0 &&
		test_must_fail ledger "$job" how
	'
	test_expect_success "$version: a job that yielded without a notice is preempted like any other" '
		requester=$(requester) && preempted_for "$job" "$requester" &&
		wait_state "$requester" RUNNING &&
		test "$(restarts "$job")" = 1 &&
		test "$(ledger "$job" how)" = "$job|late" &&
		test "$(ledger "$job" yielded)" = "$job|-" &&
		test "$(ledger "$job" lostwork)" != "$job|0" &&
		cancel_all_jobs && as alice rm refused
	'
}

# yield_for JOB N: send a yield for notice N
yield_for()
{
	local dir

	dir=$(rundir n1 "$1")
	as alice sh -c 'printf "{\"verb\":\"yield\",\"id\":\"%016x\"
		,\"job\":\"%s\",\"request\":%s}" "$2" "$1" "$2" >"$3/out/.$2" &&
		mv "$3/out/.$2" "$3/out/$2"' - "$1" "$2" "$dir" &&
	answer_to n1 "$1" "$2"
}

check_stale_yield()
{
	test_expect_success "$version: a job can get a second notice after the first was withdrawn" '
		job=$(saver victim.sh true) && requester=$(requester) &&
		preempted_for "$job" "$requester" &&
		as root scancel "$requester" &&
		wait_until 60 "the preemption of job $job is withdrawn" \
			is_not_being_preempted "$job" &&
		requester=$(requester) && preempted_for "$job" "$requester"
	'
	test_expect_success "$version: a yield for a withdrawn notice is refused" '
		yield_for "$job" 1 >"$notes/refused" &&
		grep "notice 1 is not open, notice 2 is" "$notes/refused" &&
		job_is "$job" RUNNING && job_is "$requester" PENDING
	'
	test_expect_success "$version: a yield for the open notice requeues the job" '
		yield_for "$job" 2 >"$notes/taken" &&
		wait_state "$requester" RUNNING &&
		test "$(restarts "$job")" = 1 &&
		cancel_all_jobs
	'
}

# preempt_nth JOB N: preempt JOB for the Nth time; it is requeued and restarts
preempt_nth()
{
	local requester

	requester=$(requester) && wait_state "$requester" RUNNING &&
	[ "$(restarts "$1")" = "$2" ] &&
	as root scancel "$requester" && wait_state "$1" RUNNING &&
	wait_until 60 "job $1 has begun" has_run "$1" "$2"
}

has_run()
{
	output "$1" | grep -q "run $2\$"
}

# Slurm from 24.05 on holds a job that was requeued too often.
check_many_preemptions()
{
	test_expect_success "$version: a job is preempted seven times by its exit" '
		job=$(saver victim.sh exit 0) &&
		wait_until 60 "job $job has begun" has_run "$job" 0 &&
		for round in 1 2 3 4 5 6 7; do
			preempt_nth "$job" "$round" || return
		done
	'
	test_expect_success "$version: a job preempted seven times is not held and completes" '
		as alice touch go && wait_state "$job" COMPLETED &&
		test "$(restarts "$job")" = 7 && as alice rm go &&
		cancel_all_jobs
	'
}

# slurm_conf: Slurm's default
slurm_conf()
{
	if [ "$version" = 22.05 ]; then
		echo '# 22.05 has no MaxBatchRequeue'
	else
		echo MaxBatchRequeue=5
	fi
}

run_all()
{
	slurm_conf >"$notes/slurm.conf"
	cluster_up slurm="$version" nodes=1 gpus=2 \
		conf="$notes/slurm.conf" egs-conf="$notes/egs.conf"
	check_without_notice
	check_stale_yield
	check_many_preemptions
	cluster_down
}

each_version run_all
cluster_done
