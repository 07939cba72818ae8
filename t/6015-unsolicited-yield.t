#!/bin/bash
# 6015-unsolicited-yield.t - who cries wolf, answers too often, or goes again and again
# long: 150 s, a cluster for each Slurm, one job is preempted seven times
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='empty and stale answers give nothing; nobody goes too often'
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

# saver [OPTION]... SCRIPT [ARGUMENT]...: a job of alice's that runs
saver()
{
	local job

	job=$(submit --signal=B:USR1@60 --gres=gpu:a100:2 "$@") &&
	wait_state "$job" RUNNING >&2 && echo "$job"
}

taker()
{
	submit --user=bob --partition=serve --gres=gpu:a100:2 hold.sh
}

# asked_for JOB TAKER: Slurm has asked it, and the daemon knows
asked_for()
{
	wait_until 60 "job $1 was asked" asked "$1" &&
	wait_why alice "$1" "job $2 needs its 2 a100"
}

# ledger JOB FIELDS: what is in it
ledger()
{
	as root /opt/egs/bin/egs-report preemptions -n -P -o "jobid,$2" |
		grep "^$1|"
}

cries_wolf()
{
	test_expect_success "$version: a job yields a hundred times, unasked" '
		wolf=$(saver --tier=hasty wolf.sh) &&
		wait_until 90 "it is tired of it" as alice test -e refused &&
		test "$(as alice cat refused)" = 100 &&
		output "$wolf" | grep "has no preemption notice" &&
		output "$wolf" | grep "too many .egs yield. without a preemption notice"
	'
	test_expect_success "$version: it has got nothing by that" '
		job_is "$wolf" RUNNING && test "$(restarts "$wolf")" = 0 &&
		test_must_fail ledger "$wolf" how
	'
	test_expect_success "$version: it is asked, and goes, like any other" '
		took=$(taker) && asked_for "$wolf" "$took" &&
		wait_state "$took" RUNNING &&
		test "$(restarts "$wolf")" = 1 &&
		test "$(ledger "$wolf" how)" = "$wolf|late" &&
		test "$(ledger "$wolf" yielded)" = "$wolf|-" &&
		test "$(ledger "$wolf" lostwork)" != "$wolf|0" &&
		cancel_all_jobs && as alice rm refused
	'
}

# answer JOB REQUEST: it says that it yields for that one
answer()
{
	local dir

	dir=$(rundir n1 "$1")
	as alice sh -c 'printf "{\"verb\":\"yield\",\"id\":\"%016x\"
		,\"job\":\"%s\",\"request\":%s}" "$2" "$1" "$2" >"$3/out/.$2" &&
		mv "$3/out/.$2" "$3/out/$2"' - "$1" "$2" "$dir" &&
	answer_to n1 "$1" "$2"
}

stale_answer()
{
	test_expect_success "$version: a job is asked, spared, and asked again" '
		one=$(saver victim.sh true) && took=$(taker) &&
		asked_for "$one" "$took" && as root scancel "$took" &&
		wait_until 60 "job $one is spared" is_not_being_preempted "$one" &&
		took=$(taker) && asked_for "$one" "$took"
	'
	test_expect_success "$version: what it answers to the first is refused" '
		answer "$one" 1 >"$notes/refused" &&
		grep "notice 1 is not open, notice 2 is" "$notes/refused" &&
		job_is "$one" RUNNING && job_is "$took" PENDING
	'
	test_expect_success "$version: its answer to the second counts" '
		answer "$one" 2 >"$notes/taken" && wait_state "$took" RUNNING &&
		test "$(restarts "$one")" = 1 &&
		cancel_all_jobs
	'
}

# goes JOB N: it is preempted for the Nth time, at once, and is back
goes()
{
	local took

	took=$(taker) && wait_state "$took" RUNNING &&
	[ "$(restarts "$1")" = "$2" ] &&
	as root scancel "$took" && wait_state "$1" RUNNING &&
	wait_until 60 "job $1 has begun" has_run "$1" "$2"
}

has_run()
{
	output "$1" | grep -q "run $2\$"
}

# Slurm from 24.05 on holds who exits in its grace too often.
again_and_again()
{
	test_expect_success "$version: a job goes seven times, by its exit" '
		one=$(saver victim.sh exit 0) &&
		wait_until 60 "job $one has begun" has_run "$one" 0 &&
		for round in 1 2 3 4 5 6 7; do
			goes "$one" "$round" || return
		done
	'
	test_expect_success "$version: it is not held, and ends once" '
		as alice touch go && wait_state "$one" COMPLETED &&
		test "$(restarts "$one")" = 7 && as alice rm go && cancel_all_jobs
	'
}

# slurm_conf: Slurm's own default, which a site may have left as it is
slurm_conf()
{
	if [ "$version" = 22.05 ]; then
		echo '# 22.05 has no MaxBatchRequeue'
	else
		echo MaxBatchRequeue=5
	fi
}

abuse()
{
	slurm_conf >"$notes/slurm.conf"
	cluster_up slurm="$version" nodes=1 gpus=2 \
		conf="$notes/slurm.conf" egs-conf="$notes/egs.conf"
	cries_wolf
	stale_answer
	again_and_again
	cluster_down
}

each_version abuse
cluster_done
