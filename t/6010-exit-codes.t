#!/bin/bash
# 6010-exit-codes.t - what an exit after being asked means: the table of egs(7)
# long: 120 s, a cluster for each Slurm
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='what a job declared and said decides what its exit means'
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

# cell NAME [OPTION]... -- CMD...: a job that runs CMD once it may leave
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

# row NAME [OPTION]...: a job that says nothing, one that says it has finished,
# and one that yields, each with three exit codes
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

# of NAME: its job
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

# returned NAME...: they went into the queue, with their exit code forgotten
returned()
{
	local name

	for name; do
		wait_until 90 "$name is requeued" has_restarted "$(of "$name")" ||
			return
		requeued="$requeued $name"
	done
}

has_restarted()
{
	[ "$(restarts "$1")" = 1 ]
}

# ended STATE NAME...: they are over, after one run
ended()
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
	row none --ckpt=none &&
	row kept "$save" --no-requeue &&
	cell finish-0 "$save" --egs=exit=finish -- exit 0 &&
	cell finish-3 "$save" --egs=exit=finish -- exit 3 &&
	cell stays "$save" -- eval "$egs yield; exec sleep 600" &&
	cell cancel "$save" -- sleep 600 &&
	cell revive "$save" -- \
		eval "trap '$egs yield; exit 99' TERM; touch set; sleep 600 & wait"
}

outcomes()
{
	cluster_up slurm="$version" nodes=2 gpus=16 cores=16 \
		egs-conf="$notes/egs.conf"
	test_expect_success "$version: jobs of all kinds run" '
		submit_all && all_are runs
	'
	test_expect_success "$version: all of them are asked to leave" '
		taker=$(submit --user=bob --partition=serve -N2 \
			--gres=gpu:a100:16 hold.sh) &&
		all_are was_asked &&
		wait_policyd under_way 0
	'
	test_expect_success "$version: scancel wins" '
		as alice scancel "$(of cancel)" && ended CANCELLED cancel
	'
	test_expect_success "$version: they leave, and the other one has the GPUs" '
		as alice touch leave && leaves_at_last &&
		wait_state "$taker" RUNNING 150
	'
	test_expect_success "$version: it yields: requeued, whatever else it says" '
		returned stays saves-yield-{0,3,99} none-yield-{0,3,99}
	'
	test_expect_success "$version: it saves: any exit code is a yield" '
		returned saves-silent-{0,3,99}
	'
	test_expect_success "$version: its work is done: its exit code stands" '
		ended COMPLETED saves-done-0 finish-0 &&
		ended FAILED saves-done-3 finish-3
	'
	test_expect_success "$version: it declared nothing: its exit code stands" '
		ended COMPLETED none-silent-0 none-done-0 &&
		ended FAILED none-silent-3 none-done-3
	'
	test_expect_success "$version: 99 is a wish to run again" '
		returned saves-done-99 none-silent-99 none-done-99
	'
	test_expect_success "$version: --no-requeue: its exit code stands" '
		ended COMPLETED kept-silent-0 kept-done-0 &&
		ended FAILED kept-silent-3 kept-done-3
	'
	test_expect_success "$version: --no-requeue and 99: as Slurm has it" '
		without_requeue kept-silent-99 kept-done-99
	'
	test_expect_success "$version: --no-requeue, and it yields: one run" '
		over kept-yield-{0,3} &&
		{ test "$version" = 22.05 || over kept-yield-99; }
	'
	test_expect_success "$version: a cancelled job that yields is no less so" '
		ended CANCELLED revive
	'
	test_expect_success "$version: they come back, and end once" '
		as alice touch go && as bob touch go &&
		for name in $requeued; do
			wait_state "$(of "$name")" COMPLETED &&
			test "$(restarts "$(of "$name")")" = 1 || return
		done
	'
	cluster_down
}

# leaves_at_last: the one that does not want to be cancelled
leaves_at_last()
{
	wait_until 60 "its trap is set" as alice test -e set &&
	as alice scancel "$(of revive)"
}

# without_requeue NAME...: RequeueExit is before --no-requeue on Slurm 22.05 and
# after it on others
without_requeue()
{
	if [ "$version" = 22.05 ]; then
		returned "$@"
	else
		ended FAILED "$@"
	fi
}

# over NAME...: cancelled, or ended just before that
over()
{
	local name

	for name; do
		wait_until 60 "$name has left" has_ended "$(of "$name")" &&
		[ "$(restarts "$(of "$name")")" = 0 ] || return
	done
}

each_version outcomes
cluster_done
