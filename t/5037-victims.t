#!/bin/bash
# 5037-victims.t - the weakest job yields, and no second one for it
# long: 60 s, a cluster of four nodes for each Slurm
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='the right victim'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,research
PollInterval=1s
GpuType=a100
Tier=prod MinRuntime=0s
Tier=research MinRuntime=0s GraceMin=0s GraceMax=0s
Team=fraud Users=alice Quota=a100:8 DefaultTier=research
Team=vision Users=bob Quota=a100:8 DefaultTier=research
END

cat >"$notes/slurm.conf" <<'END'
PartitionName=off Nodes=ALL MaxTime=INFINITE PreemptMode=OFF
END

# running USER NODE WHY [PARTITION]: start a job on all GPUs of the node; egs why
# says WHY
running()
{
	local job

	job=$(submit "--user=$1" "--nodelist=$2" "--partition=${4:-gpu}" \
		--gres=gpu:a100:4 hold.sh) &&
	wait_state "$job" RUNNING >&2 &&
	wait_why "$1" "$job" "$3" >&2 && echo "$job"
}

check_victims()
{
	test_expect_success "$version: the job of the own team that would be on loan is preempted" '
		first=$(running alice n1 "within quota") &&
		second=$(running alice n2 "within quota") &&
		third=$(running bob n3 "within quota") &&
		fourth=$(running bob n4 "within quota") &&
		top=$(submit --user=alice --tier=prod --gres=gpu:a100:4 hold.sh) &&
		wait_state "$top" RUNNING &&
		restarts "$first" "$second" "$third" "$fourth" &&
		test "$(restarts "$first" "$second" "$third" "$fourth")" = "0 1 0 0"
	'
	test_expect_success "$version: no second job is preempted for a stronger one" '
		wait_scheduling_cycles 2 &&
		test "$(restarts "$first" "$second" "$third" "$fourth")" = "0 1 0 0" &&
		job_is "$second" PENDING
	'
}

check_preempt_off()
{
	test_expect_success "$version: PreemptMode=OFF of a partition protects jobs on loan" '
		cancel_all_jobs &&
		first=$(running bob n1 "within quota") &&
		second=$(running bob n2 "within quota") &&
		third=$(running bob n3 "on loan" off) &&
		fourth=$(running bob n4 "on loan" off) &&
		top=$(submit --user=alice --tier=prod --gres=gpu:a100:4 hold.sh) &&
		wait_state "$top" RUNNING &&
		test "$(restarts "$third" "$fourth")" = "0 0" &&
		job_is "$third" RUNNING && job_is "$fourth" RUNNING
	'
	test_expect_success "$version: egs why names no job that PreemptMode=OFF protects" '
		owner=$(submit --user=alice --gres=gpu:a100:4 hold.sh) &&
		wait_why alice "$owner" "within quota; 0 of 16 are free, and it may not preempt"
	'
	test_expect_success "$version: egs why names the job that a job depends on" '
		late=$(submit --user=alice --dependency=afterok:"$first" hold.sh) &&
		wait_why alice "$late" "waiting for job $first (afterok), not for GPUs"
	'
}

# The two jobs on loan are enough for both components.
check_het_requester()
{
	test_expect_success "$version: a heterogeneous job preempts no job" '
		cancel_all_jobs &&
		first=$(running bob n1 "within quota") &&
		second=$(running bob n2 "within quota") &&
		third=$(running bob n3 "on loan") &&
		fourth=$(running bob n4 "on loan") &&
		het=$(submit --tier=prod --gres=gpu:a100:4 : \
			--tier=prod --gres=gpu:a100:4 hold.sh) &&
		wait_why alice "$het" "a heterogeneous job preempts no other" &&
		expect_pending_after_scheduling "$het" &&
		test "$(restarts "$first" "$second" "$third" "$fourth")" = "0 0 0 0"
	'
	test_expect_success "$version: a heterogeneous job starts when its GPUs are free" '
		as root scancel "$third" "$fourth" && wait_state "$het" RUNNING
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=4 gpus=4 conf="$notes/slurm.conf" \
		egs-conf="$notes/egs.conf"
	check_victims
	check_preempt_off
	check_het_requester
	cluster_down
}

each_version run_all
cluster_done
