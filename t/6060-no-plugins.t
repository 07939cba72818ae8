#!/bin/bash
# 6060-no-plugins.t - preemption where nothing of EGS is inside slurmctld
# long: 60 s, three jobs are preempted, one after another
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='without plugins in slurmctld a job yields to Slurm itself, once'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

if [[ " $EGS_TEST_VERSIONS " != *" 26.05 "* ]] || has_plugins 26.05; then
	skip_all='there is no Slurm 26.05 without plugins'
	test_done
fi

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,scavenge
PollInterval=1s
GpuType=a100
Tier=prod Partitions=serve
Tier=scavenge Partitions=scavenge Loan=always MinRuntime=0s \
	GraceMin=10m GraceMax=10m
Team=fraud Users=alice Quota=none
Team=vision Users=bob Quota=a100:4
END
cat >"$notes/slurm.conf" <<'END'
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PreemptParameters=send_user_signal
RequeueExit=99
MaxBatchRequeue=1000000
PartitionName=serve Nodes=ALL MaxTime=INFINITE PriorityTier=10
PartitionName=scavenge Nodes=ALL MaxTime=INFINITE GraceTime=600
END

# victim CMD...: alice's job, which runs CMD when it may leave
victim()
{
	local job

	as alice rm -f go leave && as bob rm -f go &&
	job=$(submit --partition=scavenge --phase=train --signal=B:USR1@60 \
		--requeue --open-mode=append --gres=gpu:a100:4 \
		asked.sh "$@") &&
	wait_state "$job" RUNNING >&2 &&
	wait_until 60 "job $job has begun" says "$job" 'run 0' >&2 &&
	echo "$job"
}

says()
{
	output "$1" 2>/dev/null | grep -q "$2"
}

# asked_by_slurm JOB: for bob's
asked_by_slurm()
{
	taker=$(submit --user=bob --partition=serve --gres=gpu:a100:4 hold.sh) &&
	wait_until 90 "job $1 is asked" says "$1" asked &&
	wait_why alice "$1" " asked .*job $taker of team vision"
}

# handed_over: the victim's GPUs are the taker's, for a moment
handed_over()
{
	as alice touch leave && wait_state "$taker" RUNNING &&
	as bob touch go && wait_state "$taker" COMPLETED
}

# comes_back: at once, and ends once
comes_back()
{
	as alice rm -f leave && wait_state "$victim" RUNNING &&
	wait_until 60 "job $victim goes on" says "$victim" 'run 1' &&
	as alice touch go && wait_state "$victim" COMPLETED &&
	test "$(restarts "$victim")" = 1
}

cluster_up slurm=26.05 nodes=1 gpus=4 conf="$notes/slurm.conf" \
	egs-conf="$notes/egs.conf"

test_expect_success 'Slurm preempts a job, and it yields' '
	victim=$(victim eval \
		"/opt/egs/bin/egs yield --path=/ckpt/3; sleep 600") &&
	asked_by_slurm "$victim" && handed_over
'
test_expect_success 'it comes back with its checkpoint, and ends once' '
	comes_back && says "$victim" "run 1 resume=1 last=/ckpt/3" &&
	says "$victim" "^egs: preempted at .* job $taker of team vision"
'
test_expect_success 'another one exits when it is asked' '
	victim=$(victim exit 0) && asked_by_slurm "$victim" &&
	handed_over && comes_back
'
test_expect_success 'scancel wins over a yield' '
	victim=$(victim eval "trap \"\" TERM; /opt/egs/bin/egs yield
		touch yielded; until [ -e go ]; do sleep 0.2; done; exit 0") &&
	asked_by_slurm "$victim" && as alice touch leave &&
	wait_until 60 "it has yielded" as alice test -e yielded &&
	as alice scancel "$victim" && as alice touch go &&
	wait_state "$victim" CANCELLED && wait_state "$taker" RUNNING &&
	as bob touch go && wait_state "$taker" COMPLETED
'
test_expect_success 'an operator asks one, which hears of it by file' '
	victim=$(victim eval "echo waits; /opt/egs/bin/egs wait-request &&
		/opt/egs/bin/egs yield; sleep 600") &&
	as alice touch leave &&
	wait_until 60 "job $victim waits" says "$victim" waits &&
	wait_why alice "$victim" "on loan" &&
	egsctl preempt "$victim" --reason=maintenance && comes_back &&
	says "$victim" "^egs: preempted at .*: maintenance;"
'
cluster_done
