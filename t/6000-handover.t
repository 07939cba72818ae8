#!/bin/bash
# 6000-handover.t - a preemption from the notice to the restart
# long: 90 s, a cluster for each Slurm
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='a victim gets a notice, saves, is requeued and restarts'
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

# victim PARTITION CMD...: start a job of alice that runs CMD when it may exit
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

requester()
{
	submit --user=bob --partition=serve --gres=gpu:a100:4 hold.sh
}

says()
{
	output "$1" 2>/dev/null | grep -q "$2"
}

gets_signal()
{
	wait_until 90 "job $1 gets its signal" says "$1" asked
}

# is_requeued JOB: wait until the job has one restart
is_requeued()
{
	wait_until 90 "job $1 is requeued" has_restarted "$1"
}

has_restarted()
{
	[ "$(restarts "$1")" = 1 ]
}

# handed_over: the requester runs on the victim's GPUs and completes
handed_over()
{
	wait_state "$requester" RUNNING && as bob touch go &&
	wait_state "$requester" COMPLETED && as bob rm go
}

# restarts_once: the victim runs again under its id and completes
restarts_once()
{
	as alice rm -f leave &&
	wait_state "$victim" RUNNING &&
	wait_until 60 "job $victim runs again" \
		says "$victim" 'run 1 resume=1' &&
	as alice touch go &&
	wait_state "$victim" COMPLETED &&
	test "$(restarts "$victim")" = 1 &&
	says "$victim" 'run 0'
}

check_handover()
{
	test_expect_success "$version: a victim gets its own signal, and egs why names the requester" '
		victim=$(victim gpu exit 99) &&
		requester=$(requester) &&
		gets_signal "$victim" &&
		wait_why alice "$victim" "asked .*job $requester of team vision"
	'
	test_expect_success "$version: egsctl show preemptions lists the victim while it is asked" '
		as root egsctl show preemptions -nP \
			-o jobid,user,team,gpus,keeps,byjob,byteam,state >got &&
		echo "$victim|alice|fraud|4|0|$requester|vision|asked" >want &&
		test_cmp want got &&
		left=$(as alice egsctl show preemptions -nP -o left) &&
		test "$left" -gt 100 && test "$left" -le 300 &&
		as bob egsctl show preemptions >got 2>err && test_must_be_empty got &&
		grep "egsctl: no preemptions to show" err
	'
	test_expect_success "$version: egsctl show map shows what each may see of the victim" '
		as root egsctl show map -nP -o count,state,team,jobid,user,left >all &&
		as carol egsctl show map -nP -o count,state,team,jobid,user,left >other &&
		grep "^4|busy|fraud|$victim|alice|[0-9]" all &&
		grep "^4|busy|fraud|-|-|[0-9]" other &&
		! grep alice other
	'
	test_expect_success "$version: egsctl show waiting explains a job to its owner, and counts it for others" '
		as bob egsctl show waiting -nP -o jobid,team,jobs,gpus,why >own &&
		as carol egsctl show waiting -nP -o jobid,user,team,jobs,gpus,why >other &&
		grep "^$requester|vision|1|4|job $requester: " own &&
		grep "^-|-|vision|1|4|-$" other
	'
	test_expect_success "$version: a victim that exits with 99 hands over its GPUs" '
		as alice touch leave && handed_over
	'
	test_expect_success "$version: the victim restarts once, without a delay, and completes" '
		restarts_once
	'
	test_expect_success "$version: the restarted job prints why it was preempted" '
		says "$victim" "^egs: preempted at .* job $requester of team vision"
	'
	test_expect_success "$version: a victim that calls egs yield restarts with its checkpoint path" '
		victim=$(victim gpu eval \
			"/opt/egs/bin/egs yield --path=/ckpt/17; exec sleep 600") &&
		requester=$(requester) && gets_signal "$victim" &&
		as alice touch leave && handed_over && restarts_once &&
		says "$victim" "run 1 resume=1 last=/ckpt/17"
	'
	test_expect_success "$version: a victim that requeues itself restarts once" '
		victim=$(victim gpu eval "scontrol requeue \$SLURM_JOB_ID; exec sleep 600") &&
		requester=$(requester) && gets_signal "$victim" &&
		as alice touch leave && handed_over && restarts_once
	'
	test_expect_success "$version: the restarted job prints how soon it left, not how long it could take" '
		left=$(output "$victim" | sed -n \
			"s/^egs: .*; the job left \([0-9]*\) s after its notice/\1/p") &&
		test "$left" -ge 0 && test "$left" -lt 100
	'
	test_expect_success "$version: egsctl preempt requeues a job, and it restarts" '
		victim=$(victim gpu exit 0) &&
		egsctl pause --reason="NFS incident" &&
		test_must_fail egsctl preempt "$victim" --reason=maintenance 2>err &&
		grep "job $victim: EGS is paused (NFS incident); run .egsctl unpause. first" err &&
		egsctl unpause &&
		egsctl preempt "$victim" --reason=maintenance &&
		gets_signal "$victim" && as alice touch leave &&
		is_requeued "$victim" && restarts_once &&
		says "$victim" "^egs: preempted at .*: maintenance;"
	'
	test_expect_success "$version: a job that an operator preempts runs again before weaker jobs" '
		as bob rm -f go leave && as alice rm -f go leave &&
		strong=$(submit --user=bob --partition=serve --signal=B:USR1@60 \
			--gres=gpu:a100:4 asked.sh exit 99) &&
		wait_state "$strong" RUNNING &&
		wait_until 60 "job $strong has begun" says "$strong" "run 0" &&
		weak=$(submit --partition=scavenge --gres=gpu:a100:2 hold.sh) &&
		weaker=$(submit --partition=scavenge --gres=gpu:a100:2 hold.sh) &&
		expect_pending_after_scheduling "$weak" &&
		expect_pending_after_scheduling "$weaker" &&
		egsctl preempt "$strong" --reason=maintenance &&
		gets_signal "$strong" && as bob touch leave &&
		is_requeued "$strong" && wait_state "$strong" RUNNING &&
		test "$(restarts "$weak" "$weaker")" = "0 0" &&
		job_is "$weak" PENDING && job_is "$weaker" PENDING &&
		as bob rm leave && as bob touch go &&
		wait_state "$strong" COMPLETED && as bob rm go &&
		wait_state "$weak" RUNNING && wait_state "$weaker" RUNNING &&
		as root scancel "$weak" "$weaker"
	'
	test_expect_success "$version: a victim that never answers is requeued at the deadline" '
		victim=$(victim scavenge false) &&
		requester=$(requester) && gets_signal "$victim" &&
		handed_over && wait_why alice "$victim" " late " &&
		restarts_once
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=1 gpus=4 egs-conf="$notes/egs.conf"
	check_handover
	cluster_down
}

each_version run_all
cluster_done
