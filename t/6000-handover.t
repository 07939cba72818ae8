#!/bin/bash
# 6000-handover.t - asked, saved, gone, and back when there is room
# long: 90 s, a cluster for each Slurm
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='a victim is asked, saves, goes, and comes back'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,research,scavenge
PollInterval=1s
GpuType=a100
Tier=prod Partitions=serve
Tier=research Partitions=gpu MinRuntime=0s MaxPreemptions=none \
	GraceMin=1s GraceMax=300s GraceNoAck=300s
Tier=scavenge Partitions=scavenge Loan=always MinRuntime=0s \
	MaxPreemptions=none GraceMin=1s GraceMax=3s
Team=fraud Users=alice Quota=none DefaultTier=scavenge
Team=vision Users=bob Quota=a100:4 DefaultTier=prod
END

# victim PARTITION CMD...: alice's job, and it runs
victim()
{
	local job

	as alice rm -f go leave &&
	job=$(submit --partition="$1" --signal=B:USR1@60 --gres=gpu:a100:4 \
		asked.sh "${@:2}") &&
	wait_state "$job" RUNNING >&2 &&
	wait_until 60 "job $job has begun" says "$job" 'run 0' >&2 &&
	echo "$job"
}

taker()
{
	submit --user=bob --partition=serve --gres=gpu:a100:4 hold.sh
}

says()
{
	output "$1" 2>/dev/null | grep -q "$2"
}

is_asked()
{
	wait_until 90 "job $1 is asked" says "$1" asked
}

# is_requeued JOB: it has gone for the first time
is_requeued()
{
	wait_until 90 "job $1 is requeued" has_restarted "$1"
}

has_restarted()
{
	[ "$(restarts "$1")" = 1 ]
}

# handed_over: the victim's GPUs are the taker's, for a moment
handed_over()
{
	wait_state "$taker" RUNNING && as bob touch go &&
	wait_state "$taker" COMPLETED && as bob rm go
}

# comes_back: it runs again, once, under the same id, and ends in peace
comes_back()
{
	as alice rm -f leave &&
	wait_state "$victim" RUNNING &&
	wait_until 60 "job $victim goes on" says "$victim" 'run 1 resume=1' &&
	as alice touch go &&
	wait_state "$victim" COMPLETED &&
	test "$(restarts "$victim")" = 1 &&
	says "$victim" 'run 0'
}

handover()
{
	test_expect_success "$version: asked with its own signal, and for whom" '
		victim=$(victim gpu exit 99) &&
		taker=$(taker) &&
		is_asked "$victim" &&
		wait_why alice "$victim" "asked .*job $taker of team vision"
	'
	test_expect_success "$version: exit 99: gone, and its GPUs are another's" '
		as alice touch leave && handed_over
	'
	test_expect_success "$version: it comes back at once, ends once" '
		comes_back
	'
	test_expect_success "$version: and is told why it had to go" '
		says "$victim" "^egs: preempted at .* job $taker of team vision"
	'
	test_expect_success "$version: egs yield: back with its checkpoint" '
		victim=$(victim gpu eval \
			"/opt/egs/bin/egs yield --path=/ckpt/17; sleep 600") &&
		taker=$(taker) && is_asked "$victim" &&
		as alice touch leave && handed_over && comes_back &&
		says "$victim" "run 1 resume=1 last=/ckpt/17"
	'
	test_expect_success "$version: a job that requeues itself" '
		victim=$(victim gpu eval "scontrol requeue \$SLURM_JOB_ID; sleep 600") &&
		taker=$(taker) && is_asked "$victim" &&
		as alice touch leave && handed_over && comes_back
	'
	test_expect_success "$version: an operator has a job go, and come back" '
		victim=$(victim gpu exit 0) &&
		egsctl preempt "$victim" --reason=maintenance &&
		is_asked "$victim" && as alice touch leave &&
		is_requeued "$victim" && comes_back &&
		says "$victim" "^egs: preempted at .*: maintenance;"
	'
	test_expect_success "$version: one that never answers is requeued" '
		victim=$(victim scavenge false) &&
		taker=$(taker) && is_asked "$victim" &&
		handed_over && wait_why alice "$victim" " late " && comes_back
	'
}

handovers()
{
	cluster_up slurm="$version" nodes=1 gpus=4 egs-conf="$notes/egs.conf"
	handover
	cluster_down
}

each_version handovers
cluster_done
