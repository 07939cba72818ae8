#!/bin/bash
# 6060-no-plugins.t - preemption without plugins in slurmctld
# long: 60 s, three jobs are preempted, one after another
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='without plugins in slurmctld EGS answers the preemptions of Slurm'
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

# victim CMD...: start a job of alice that runs CMD when it may exit
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

# preempted_by_slurm JOB: for a job of bob
preempted_by_slurm()
{
	requester=$(submit --user=bob --partition=serve --gres=gpu:a100:4 hold.sh) &&
	wait_until 90 "job $1 gets its signal" says "$1" asked &&
	wait_why alice "$1" " asked .*job $requester of team vision"
}

# handed_over: the requester runs on the victim's GPUs and completes
handed_over()
{
	as alice touch leave && wait_state "$requester" RUNNING &&
	as bob touch go && wait_state "$requester" COMPLETED
}

# restarts_once: the victim runs again under its id and completes
restarts_once()
{
	as alice rm -f leave && wait_state "$victim" RUNNING &&
	wait_until 60 "job $victim runs again" says "$victim" 'run 1' &&
	as alice touch go && wait_state "$victim" COMPLETED &&
	test "$(restarts "$victim")" = 1
}

cluster_up slurm=26.05 nodes=1 gpus=4 conf="$notes/slurm.conf" \
	egs-conf="$notes/egs.conf"

test_expect_success 'a job that Slurm preempts can yield' '
	victim=$(victim eval \
		"/opt/egs/bin/egs yield --path=/ckpt/3; sleep 600") &&
	preempted_by_slurm "$victim" && handed_over
'
test_expect_success 'the preempted job restarts once with its checkpoint path' '
	restarts_once && says "$victim" "run 1 resume=1 last=/ckpt/3" &&
	says "$victim" "^egs: preempted at .* job $requester of team vision"
'
test_expect_success 'a job that exits on its signal restarts once' '
	victim=$(victim exit 0) && preempted_by_slurm "$victim" &&
	handed_over && restarts_once
'
test_expect_success 'a job cancelled after its yield stays cancelled' '
	victim=$(victim eval "trap \"\" TERM; /opt/egs/bin/egs yield
		touch yielded; until [ -e go ]; do sleep 0.2; done; exit 0") &&
	preempted_by_slurm "$victim" && as alice touch leave &&
	wait_until 60 "job $victim has yielded" as alice test -e yielded &&
	as alice scancel "$victim" && as alice touch go &&
	wait_state "$victim" CANCELLED && wait_state "$requester" RUNNING &&
	as bob touch go && wait_state "$requester" COMPLETED
'
test_expect_success 'egsctl preempt reaches a job by its notice file' '
	victim=$(victim eval "echo waits; /opt/egs/bin/egs wait-request &&
		/opt/egs/bin/egs yield; sleep 600") &&
	as alice touch leave &&
	wait_until 60 "job $victim waits" says "$victim" waits &&
	wait_why alice "$victim" "running on .* on loan (" &&
	egsctl preempt "$victim" --reason=maintenance && restarts_once &&
	says "$victim" "^egs: preempted at .*: maintenance;"
'
cluster_done
