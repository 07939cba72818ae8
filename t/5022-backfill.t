#!/bin/bash
# 5022-backfill.t - what backfill starts is where, and for whom, it should be
# long: 80 s, a cluster of two nodes for each Slurm
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='backfill alone: whole nodes stay whole, few have to go'
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

# The main scheduler rests.  A job that backfill has chosen nodes for gets these
# and no others.
cat >"$notes/slurm.conf" <<'END'
SchedulerParameters=sched_interval=-1,bf_interval=1,bf_continue,bf_window=600
END

# decided OPTION...: a job of alice's that the daemon knows before it is tested,
# running: and it runs
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

places()
{
	test_expect_success "$version: the main scheduler does nothing" '
		one=$(running --nodelist=n2 --gres=gpu:a100:1) &&
		as root sdiag | grep -A9 "^Main" | grep "Total cycles: *0"
	'
	test_expect_success "$version: a small job leaves a whole node whole" '
		two=$(running --gres=gpu:a100:1) &&
		test "$(node_of "$two")" = n2
	'
	test_expect_success "$version: a phase is at home first" '
		cancel_all_jobs &&
		one=$(running --nodelist=n1 --gres=gpu:a100:1) &&
		two=$(running --phase=train --gres=gpu:a100:1) &&
		test "$(node_of "$two")" = n2 &&
		cancel_all_jobs
	'
}

# Three small jobs and a larger one on the first node, on the second one of all
# its GPUs: two GPUs and six cores are had from the larger one alone.
victims()
{
	test_expect_success "$version: and the one that loses least goes" '
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

# Backfill plans with the answer to its own test, which is not the one that
# chooses the victims: what is left of the other nodes is for others.
plans()
{
	test_expect_success "$version: a job of one GPU waits for a small one" '
		all=$(running -p serve -w n1 --gres=gpu:a100:5) &&
		for i in 1 2 3 4 5; do
			running -p serve -w n2 --gres=gpu:a100:1 || return
		done >small &&
		job=$(submit --user=bob --gres=gpu:a100:1 --time=10 hold.sh) &&
		wait_until 60 "it has a plan" planned_on "$job" n2
	'
	test_expect_success "$version: and its plan is where that is" '
		! is_being_preempted "$all" &&
		planned_on "$job" n2 &&
		cancel_all_jobs
	'
}

backfills()
{
	cluster_up slurm="$version" nodes=2 gpus=5 cores=12 \
		conf="$notes/slurm.conf" egs-conf="$notes/egs.conf"
	places
	victims
	plans
	cluster_down
}

each_version backfills
cluster_done
