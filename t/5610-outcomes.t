#!/bin/bash
# 5610-outcomes.t - what an exit after being asked means: the table of egs(7)
# long: 90 s, a cluster for each Slurm
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='what a job declared and said decides what its exit means'
. "${srcdir:-$(dirname "$0")/..}/t/lib/cluster.sh"
. "$srcdir/t/lib/policyd.sh"
. "$srcdir/t/lib/yield.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,research
PollInterval=1s
GpuType=a100
Tier=prod Partitions=serve
Tier=research Partitions=gpu MinRuntime=0s MaxPreemptions=none \
	GraceMin=300s GraceMax=300s NoRequeue=cancel
Team=fraud Users=alice Quota=none DefaultTier=research
Team=vision Users=bob Quota=a100:9 DefaultTier=prod
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
	wait_state "$1" RUNNING &&
	wait_until 60 "job $1 has begun" begun "$1"
}

begun()
{
	output "$1" 2>/dev/null | grep -q 'run 0'
}

was_asked()
{
	explains alice "$1" ' asked '
}

# returned NAME: it went into the queue, with its exit code forgotten
returned()
{
	wait_until 90 "$1 is requeued" is_requeued_once "$(of "$1")"
}

is_requeued_once()
{
	[ "$(restarts "$1")" = 1 ]
}

# ended NAME STATE: it is over, after one run
ended()
{
	wait_state "$(of "$1")" "$2" && [ "$(restarts "$(of "$1")")" = 0 ]
}

submit_all()
{
	local save='--signal=B:USR1@60'

	names=
	cell zero "$save" -- exit 0 &&
	cell three "$save" -- exit 3 &&
	cell yield "$save" -- eval "$egs yield; exec sleep 600" &&
	cell finished "$save" -- eval "$egs finished; exit 0" &&
	cell finish "$save" --egs=exit=finish -- exit 3 &&
	cell none -- exit 0 &&
	cell failed --ckpt=none -- exit 3 &&
	cell cancel "$save" -- sleep 600 &&
	cell norequeue "$save" --no-requeue -- exit 0
}

outcomes()
{
	cluster_up slurm="$version" nodes=1 gpus=9 cores=10 \
		egs-conf="$notes/egs.conf"
	test_expect_success "$version: jobs of all kinds run" '
		submit_all && all_are runs
	'
	test_expect_success "$version: all of them are asked to leave" '
		taker=$(submit --user=bob --partition=serve --gres=gpu:a100:9 \
			hold.sh) &&
		all_are was_asked &&
		wait_policyd under_way 0
	'
	test_expect_success "$version: scancel wins" '
		as alice scancel "$(of cancel)" && ended cancel CANCELLED
	'
	test_expect_success "$version: they leave, and the other one has the GPUs" '
		as alice touch leave && wait_state "$taker" RUNNING 150
	'
	test_expect_success "$version: it saves: any exit code is a yield" '
		returned zero && returned three
	'
	test_expect_success "$version: it says so and stays: requeued all the same" '
		returned yield
	'
	test_expect_success "$version: its work is done: its exit code stands" '
		ended finished COMPLETED && ended finish FAILED
	'
	test_expect_success "$version: it declared nothing: its exit code stands" '
		ended none COMPLETED && ended failed FAILED
	'
	test_expect_success "$version: --no-requeue: its exit code stands" '
		ended norequeue COMPLETED
	'
	test_expect_success "$version: they come back, and end once" '
		as alice touch go && as bob touch go &&
		for name in zero three yield; do
			wait_state "$(of "$name")" COMPLETED &&
			test "$(restarts "$(of "$name")")" = 1 || return
		done
	'
	cluster_down
}

each_version outcomes
cluster_done
