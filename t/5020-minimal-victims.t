#!/bin/bash
# 5020-minimal-victims.t - EGS preempts as few jobs as possible, the cheapest first
# long: 90 s, a cluster of two nodes for each Slurm, each with a stock one
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='a job preempts only the jobs it needs'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,scavenge
PollInterval=1s
GpuType=a100
Tier=prod Partitions=high
Tier=scavenge Partitions=low,mid Loan=always MinRuntime=0s \
	GraceMin=0s GraceMax=0s
Team=fraud Users=alice Quota=a100:6 DefaultTier=scavenge
Team=vision Users=bob Quota=a100:6 DefaultTier=prod
END

# Both clusters have these partitions: stock preempts by them, EGS by tiers.
cat >"$notes/slurm.conf" <<'END'
PartitionName=low Nodes=ALL PriorityTier=1 MaxTime=INFINITE
PartitionName=mid Nodes=ALL PriorityTier=2 MaxTime=INFINITE
PartitionName=high Nodes=ALL PriorityTier=10 MaxTime=INFINITE
END
cat - "$notes/slurm.conf" >"$notes/stock.conf" <<'END'
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
END

# running NODE PARTITION GPUS CORES: start a job of alice there
running()
{
	local job

	job=$(submit "--partition=$2" "--nodelist=$1" "--gres=gpu:$3" "-c$4" \
		hold.sh) && wait_state "$job" RUNNING >&2 && echo "$job"
}

# fill: three small jobs and a larger one on the first node, a costlier one on
# the second; print the ids of all
fill()
{
	running n1 low 1 2 && running n1 low 1 2 && running n1 low 1 2 &&
	running n1 mid 2 6 && running n2 mid 5 6
}

# submit_requester: a job of bob that needs GPUs and cores of one node
submit_requester()
{
	submit --user=bob --partition=high --gres=gpu:2 -c6 hold.sh
}

# expect_restarts "JOB..." REGEX: bob's job runs, and the restarts of the other
# jobs match REGEX
expect_restarts()
{
	wait_state "$job" RUNNING || return
	# shellcheck disable=SC2086 # numbers
	restarts $1
	# shellcheck disable=SC2086
	restarts $1 | grep -qE "^($2)$"
}

check_victims()
{
	test_expect_success "$version: stock requeues three jobs for two GPUs" '
		filled=$(on stock fill) && job=$(on stock submit_requester) &&
		on stock expect_restarts "$filled" "1 1 1 0 0"
	'
	test_expect_success "$version: EGS requeues the one job that loses least" '
		filled=$(fill) && job=$(submit_requester) &&
		expect_restarts "$filled" "0 0 0 1 0"
	'
	test_expect_success "$version: EGS requeues a minimal set for a job on two nodes" '
		cancel_all_jobs &&
		filled=$(fill) &&
		job=$(submit --user=bob --partition=high -N2 --gres=gpu:1 -c1 \
			hold.sh) &&
		expect_restarts "$filled" "(1 0 0|0 1 0|0 0 1) 0 1"
	'
}

beside_stock()
{
	cluster_up slurm="$version" name=stock stock nodes=2 gpus=5 cores=12 \
		conf="$notes/stock.conf"
	cluster_up slurm="$version" name=egs nodes=2 gpus=5 cores=12 \
		conf="$notes/slurm.conf" egs-conf="$notes/egs.conf"
	check_victims
	on stock cluster_down
	cluster_down
}

each_version beside_stock
cluster_done
