#!/bin/bash
# 5020-minimal-victims.t - as many jobs go as are needed, and those that lose least
# long: 90 s, a cluster of two nodes for each Slurm, each with a stock one
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='the victims of a job are the ones it needs, and no others'
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

# The same partitions for both: stock preempts by them, and EGS has tiers.
cat >"$notes/slurm.conf" <<'END'
PartitionName=low Nodes=ALL PriorityTier=1 MaxTime=INFINITE
PartitionName=mid Nodes=ALL PriorityTier=2 MaxTime=INFINITE
PartitionName=high Nodes=ALL PriorityTier=10 MaxTime=INFINITE
END
cat - "$notes/slurm.conf" >"$notes/stock.conf" <<'END'
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
END

# running NODE PARTITION GPUS CORES: a job of alice's that runs there
running()
{
	local job

	job=$(submit "--partition=$2" "--nodelist=$1" "--gres=gpu:$3" "-c$4" \
		hold.sh) && wait_state "$job" RUNNING >&2 && echo "$job"
}

# fill: three small jobs and a larger one on the first node, a costlier one on
# the second; the numbers of all of them
fill()
{
	running n1 low 1 2 && running n1 low 1 2 && running n1 low 1 2 &&
	running n1 mid 2 6 && running n2 mid 5 6
}

# prod: what it needs of a node
prod()
{
	submit --user=bob --partition=high --gres=gpu:2 -c6 hold.sh
}

# went JOBS RESTARTS: bob's job runs, and these were requeued for it
went()
{
	wait_state "$job" RUNNING || return
	# shellcheck disable=SC2086 # numbers
	restarts $1
	# shellcheck disable=SC2086
	restarts $1 | grep -qE "^($2)$"
}

stories()
{
	test_expect_success "$version: stock requeues three jobs for two GPUs" '
		filled=$(on stock fill) && job=$(on stock prod) &&
		on stock went "$filled" "1 1 1 0 0"
	'
	test_expect_success "$version: EGS the one that loses least" '
		filled=$(fill) && job=$(prod) && went "$filled" "0 0 0 1 0"
	'
	test_expect_success "$version: two nodes: the set is still minimal" '
		cancel_all_jobs &&
		filled=$(fill) &&
		job=$(submit --user=bob --partition=high -N2 --gres=gpu:1 -c1 \
			hold.sh) &&
		went "$filled" "(1 0 0|0 1 0|0 0 1) 0 1"
	'
}

beside_stock()
{
	cluster_up slurm="$version" name=stock stock nodes=2 gpus=5 cores=12 \
		conf="$notes/stock.conf"
	cluster_up slurm="$version" name=egs nodes=2 gpus=5 cores=12 \
		conf="$notes/slurm.conf" egs-conf="$notes/egs.conf"
	stories
	on stock cluster_down
	cluster_down
}

each_version beside_stock
cluster_done
