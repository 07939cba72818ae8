#!/bin/bash
# 5045-qos-preemption.t - preemption by QOS works as on stock Slurm
# long: 90 s, two clusters with slurmdbd
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='a QOS preempts another for jobs of no team, as on stock Slurm'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,scavenge
PreemptBase=preempt/qos
PollInterval=1s
StaleAfter=5s
Tier=prod Partitions=serve
Tier=scavenge Partitions=scavenge Loan=always MinRuntime=0s \
	GraceMin=30s GraceMax=30s GraceNoAck=30s
Team=fraud Users=alice Quota=a100:4 DefaultTier=prod
END
cat >"$notes/stock.conf" <<'END'
PreemptType=preempt/qos
PreemptMode=REQUEUE
END

make_qos()
{
	as root sacctmgr -i add qos weak priority=1 &&
	as root sacctmgr -i add qos strong priority=10 preempt=weak &&
	as root sacctmgr -i modify user set qos+=weak,strong
}

# qos USER QOS: start a job with all GPUs of a node
qos()
{
	local job

	job=$(submit "--user=$1" "--qos=$2" --gres=gpu:a100:4 hold.sh) &&
	wait_state "$job" RUNNING >&2 && echo "$job"
}

requeued()
{
	[ "$(job_field "$1" Restarts)" = 1 ]
}

waits_for_room()
{
	[ "$(job_field "$1" JobState) $(job_field "$1" Reason)" = \
		"PENDING Resources" ]
}

# preempts_weak LABEL: of two jobs the weak one is preempted, the equal is not
preempts_weak()
{
	test_expect_success "$1: the strong QOS preempts the weak one" '
		kept=$(qos dave strong) &&
		weak=$(qos carol weak) &&
		strong=$(qos bob strong) &&
		wait_until 60 "the weak job is requeued" requeued $weak &&
		test "$(job_field $kept Restarts) $(job_field $strong Restarts)" = "0 0"
	'
	test_expect_success "$1: the strong QOS does not preempt its equals" '
		more=$(submit --user=bob --qos=strong --gres=gpu:a100:4 hold.sh) &&
		wait_until 60 "job $more waits" waits_for_room $more &&
		job_is $kept RUNNING && job_is $strong RUNNING &&
		invariants_hold &&
		as root scancel $kept $weak $strong $more && wait_queue_empty
	'
}

# preempts_suspended LABEL: a suspended job still has its GPUs
preempts_suspended()
{
	test_expect_success "$1: the strong QOS preempts a suspended job of the weak one" '
		kept=$(qos dave strong) &&
		weak=$(qos carol weak) &&
		as root scontrol suspend $weak &&
		wait_state $weak SUSPENDED &&
		strong=$(qos bob strong) &&
		wait_until 60 "the weak job is requeued" requeued $weak &&
		invariants_hold &&
		as root scancel $kept $weak $strong && wait_queue_empty
	'
}

# By its QOS the victim would be cancelled.
keeps_fate()
{
	test_expect_success 'a victim of a team is requeued as announced, also after the end of egs-policyd' '
		as root sacctmgr -i modify qos normal set preemptmode=cancel &&
		mark_policyd_log &&
		kept=$(qos dave normal) &&
		victim=$(submit --partition=scavenge --gres=gpu:a100:4 hold.sh) &&
		wait_state $victim RUNNING &&
		taker=$(submit --partition=serve --gres=gpu:a100:4 hold.sh) &&
		wait_until 60 "Slurm preempts job $victim" is_being_preempted $victim &&
		wait_policyd_log "job $victim: asked" &&
		stop_policyd TERM &&
		wait_until 90 "job $victim is requeued" requeued $victim &&
		wait_state $taker RUNNING &&
		invariants_hold &&
		as root scancel $kept $victim $taker && wait_queue_empty &&
		policyd_up
	'
}

pick_version 24.11
cluster_up slurm="$version" dbd stock name=stock nodes=2 gpus=4 \
	conf="$notes/stock.conf"
test_expect_success 'stock: two QOS are created' make_qos
preempts_weak stock
preempts_suspended stock
cluster_down

cluster_up slurm="$version" dbd name=egs nodes=2 gpus=4 egs-conf="$notes/egs.conf"
test_expect_success 'with EGS: two QOS are created' make_qos
preempts_weak 'with EGS'
preempts_suspended 'with EGS'
keeps_fate
test_expect_success 'the decision table of a killed egs-policyd gets stale' '
	stop_policyd KILL && wait_table_stale 5
'
preempts_weak 'without egs-policyd'
cluster_done
