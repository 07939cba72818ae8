#!/bin/bash
# 6010-exit-codes.t - exit codes during the grace period: the table of egs(7)
# long: 120 s, a cluster for each Slurm
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='the hint and the messages of a job decide what its exit code means'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,research
PollInterval=1s
GpuType=a100
Tier=prod Partitions=serve
Tier=research Partitions=gpu MinRuntime=0s MaxPreemptions=none \
	GraceMin=300s GraceMax=300s NoRequeue=cancel
Team=fraud Users=alice Quota=none DefaultTier=research
Team=vision Users=bob Quota=a100:32 DefaultTier=prod
END

egs=/opt/egs/bin/egs

# cell NAME [OPTION]... -- CMD...: submit a job that runs CMD when it may exit
cell()
{
	local name=$1 options=()

	while [ "$2" != -- ]; do
		options+=("$2")
		shift
	done
	shift 2
	submit -J "$name" --gres=gpu:a100:1 "${options[@]}" asked.sh "$@" \
		>"$notes/job-$name" &&
	names="$names $name"
}

# row NAME [OPTION]...: a job without messages, one that sends finished, and one
# that yields, each with three exit codes
row()
{
	local code

	for code in 0 3 99; do
		cell "$1-silent-$code" "${@:2}" -- exit "$code" &&
		cell "$1-done-$code" "${@:2}" -- \
			eval "$egs finished; exit $code" &&
		cell "$1-yield-$code" "${@:2}" -- \
			eval "$egs yield; exit $code" || return
	done
}

# of NAME: the job id
of()
{
	cat "$notes/job-$1"
}

all_are()
{
	local name

	for name in $names; do
		"$@" "$(of "$name")" || return
	done
}

runs()
{
	wait_state "$1" RUNNING 120 &&
	wait_until 60 "job $1 has begun" begun "$1"
}

begun()
{
	output "$1" 2>/dev/null | grep -q 'run 0'
}

was_asked()
{
	wait_why alice "$1" ' asked '
}

# expect_requeued NAME...: the jobs are back in the queue
expect_requeued()
{
	local name

	for name; do
		wait_until 90 "$name is requeued" \
			has_restarted "$(of "$name")" ||
			return
		requeued="$requeued $name"
	done
}

has_restarted()
{
	[ "$(restarts "$1")" = 1 ]
}

# expect_ended STATE NAME...: the jobs have ended in STATE after one run
expect_ended()
{
	local name

	for name in "${@:2}"; do
		wait_state "$(of "$name")" "$1" &&
		[ "$(restarts "$(of "$name")")" = 0 ] || return
	done
}

submit_all()
{
	local save='--signal=B:USR1@60'

	names='' requeued=''
	row saves "$save" &&
	row none &&
	row kept "$save" --no-requeue &&
	cell finish-0 "$save" --egs=exit=finish -- exit 0 &&
	cell finish-3 "$save" --egs=exit=finish -- exit 3 &&
	cell stays "$save" -- eval "$egs yield; exec sleep 600" &&
	cell cancel "$save" -- sleep 600 &&
	cell revive "$save" -- \
		eval "trap '$egs yield; exit 99' TERM; touch set; sleep 600 & wait"
}

check_exit_codes()
{
	cluster_up slurm="$version" nodes=2 gpus=16 cores=16 \
		egs-conf="$notes/egs.conf"
	test_expect_success "$version: jobs of all kinds run" '
		submit_all && all_are runs
	'
	test_expect_success "$version: all jobs get a preemption notice" '
		requester=$(submit --user=bob --partition=serve -N2 \
			--gres=gpu:a100:16 hold.sh) &&
		all_are was_asked &&
		wait_policyd under_way 0
	'
	test_expect_success "$version: a job that is cancelled during its grace period stays cancelled" '
		as alice scancel "$(of cancel)" && expect_ended CANCELLED cancel
	'
	test_expect_success "$version: the requester starts when all jobs have exited" '
		as alice touch leave && cancel_trapping &&
		wait_state "$requester" RUNNING 150
	'
	test_expect_success "$version: a job that yields is requeued, whatever its exit code" '
		expect_requeued stays saves-yield-{0,3,99} none-yield-{0,3,99}
	'
	test_expect_success "$version: a job that declared a checkpoint is requeued, whatever its exit code" '
		expect_requeued saves-silent-{0,3,99}
	'
	test_expect_success "$version: the exit code of a job that finished is final" '
		expect_ended COMPLETED saves-done-0 finish-0 &&
		expect_ended FAILED saves-done-3 finish-3
	'
	test_expect_success "$version: the exit code of a job without a checkpoint is final" '
		expect_ended COMPLETED none-silent-0 none-done-0 &&
		expect_ended FAILED none-silent-3 none-done-3
	'
	test_expect_success "$version: exit code 99 requeues a job that declared a checkpoint" '
		expect_requeued saves-done-99
	'
	test_expect_success "$version: exit code 99 is final for a job without a checkpoint" '
		expect_ended FAILED none-silent-99 none-done-99
	'
	test_expect_success "$version: the exit code of a job with --no-requeue is final" '
		expect_ended COMPLETED kept-silent-0 kept-done-0 &&
		expect_ended FAILED kept-silent-{3,99} kept-done-{3,99}
	'
	test_expect_success "$version: a job with --no-requeue that yields has one run" '
		expect_one_run kept-yield-{0,3,99}
	'
	test_expect_success "$version: a cancelled job that yields stays cancelled" '
		expect_ended CANCELLED revive
	'
	test_expect_success "$version: requeued jobs restart once and complete" '
		as alice touch go && as bob touch go &&
		for name in $requeued; do
			wait_state "$(of "$name")" COMPLETED &&
			test "$(restarts "$(of "$name")")" = 1 || return
		done
	'
	cluster_down
}

# cancel_trapping: cancel the job that traps SIGTERM
cancel_trapping()
{
	wait_until 60 "the trap of the job is set" as alice test -e set &&
	as alice scancel "$(of revive)"
}

# expect_one_run NAME...: the jobs were cancelled, or ended just before that
expect_one_run()
{
	local name

	for name; do
		wait_until 60 "$name has ended" has_ended "$(of "$name")" &&
		[ "$(restarts "$(of "$name")")" = 0 ] || return
	done
}

each_version check_exit_codes
cluster_done
