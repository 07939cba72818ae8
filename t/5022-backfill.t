#!/bin/bash
# 5022-backfill.t - node choice, victims and plans of backfill
# long: 80 s, a cluster of two nodes for each Slurm
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='backfill alone: node choice, victims and plans'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,research,scavenge,spot
PollInterval=1s
GpuType=a100
Tier=research Partitions=gpu
Tier=scavenge Partitions=scavenge Loan=always MinRuntime=0s \
	GraceMin=0s GraceMax=0s
Tier=spot Partitions=serve Loan=always MinRuntime=0s \
	GraceMin=10m GraceMax=10m GraceNoAck=10m
Phase=train Nodes=n2
Team=fraud Users=alice Quota=a100:5 DefaultTier=research
Team=vision Users=bob Quota=a100:5 DefaultTier=research
END

# The main scheduler is off.  A job gets exactly the nodes that backfill chose.
cat >"$notes/slurm.conf" <<'END'
SchedulerParameters=sched_interval=-1,bf_interval=1,bf_continue,bf_window=600
END

# decided OPTION...: a job of alice; the daemon knows it before Slurm tests it.
# running OPTION...: the same, and wait until it runs
decided()
{
	local job

	job=$(submit --hold --time=10 "$@" hold.sh) &&
	wait_why alice "$job" "waiting for a dependency" >&2 &&
	as root scontrol release "$job" >&2 && echo "$job"
}

running()
{
	local job

	job=$(decided "$@") && wait_state "$job" RUNNING >&2 && echo "$job"
}

node_of()
{
	job_field "$1" NodeList
}

check_nodes()
{
	test_expect_success "$version: only backfill starts jobs on this cluster" '
		one=$(running --nodelist=n2 --gres=gpu:a100:1) &&
		as root sdiag | grep -A9 "^Main" | grep "Total cycles: *0"
	'
	test_expect_success "$version: backfill puts a small job on a node in use" '
		two=$(running --gres=gpu:a100:1) &&
		test "$(node_of "$two")" = n2
	'
	test_expect_success "$version: backfill puts a phase on its own nodes first" '
		cancel_all_jobs &&
		one=$(running --nodelist=n1 --gres=gpu:a100:1) &&
		two=$(running --phase=train --gres=gpu:a100:1) &&
		test "$(node_of "$two")" = n2 &&
		cancel_all_jobs
	'
}

# Three small jobs and a larger one are on the first node, a job with all GPUs on
# the second: only the larger one has two GPUs and six cores.
check_victims()
{
	test_expect_success "$version: backfill preempts the one job that loses least" '
		for i in 1 2 3; do
			running -p scavenge -w n1 --gres=gpu:a100:1 -c2 || return
		done >small &&
		one=$(running -p scavenge -w n1 --gres=gpu:a100:2 -c6) &&
		all=$(running -p scavenge -w n2 --gres=gpu:a100:5 -c6) &&
		job=$(submit --user=bob --gres=gpu:a100:2 -c6 --time=10 hold.sh) &&
		wait_state "$job" RUNNING &&
		test "$(restarts $(cat small) "$one" "$all")" = "0 0 0 1 0" &&
		cancel_all_jobs
	'
}

planned_on()
{
	[ "$(job_field "$1" SchedNodeList)" = "$2" ]
}

# Backfill plans with the answer to its own test, which is not the test that
# chooses the victims.
check_plans()
{
	test_expect_success "$version: backfill plans a job on the node of the smaller victims" '
		all=$(running -p serve -w n1 --gres=gpu:a100:5) &&
		for i in 1 2 3 4 5; do
			running -p serve -w n2 --gres=gpu:a100:1 || return
		done >small &&
		job=$(submit --user=bob --gres=gpu:a100:1 --time=10 hold.sh) &&
		wait_until 60 "job $job is planned on n2" planned_on "$job" n2 &&
		! is_being_preempted "$all" &&
		planned_on "$job" n2 &&
		cancel_all_jobs
	'
}

backfills()
{
	cluster_up slurm="$version" nodes=2 gpus=5 cores=12 \
		conf="$notes/slurm.conf" egs-conf="$notes/egs.conf"
	check_nodes
	check_victims
	check_plans
	cluster_down
}

each_version backfills
cluster_done
