#!/bin/bash
# 7040-release-nodes.t - a job with whole nodes releases whole nodes
# long: 60 s, a cluster of three nodes and its daemon for each Slurm with plugins
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='jobs with whole nodes release whole nodes'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/noded.sh"
. "$srcdir/t/lib/sh/preempt.sh"
. "$srcdir/t/lib/sh/resize.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
LiveResize=no
TierOrder=prod,research
PollInterval=1s
GpuType=a100
Team=fraud Users=alice Quota=a100:6 DefaultTier=research
Team=vision Users=bob Quota=none DefaultTier=research
END

# whole [OPTION]...: submit a job of alice with all of three nodes
whole()
{
	submit --nodes=3 --exclusive --gres=gpu:a100:2 --mem=400 \
		--phase=train "$@"
}

# shrink JOB GPUS: run egs phase as if inside the job
shrink()
{
	local rc

	as alice env SLURM_JOB_ID="$1" SLURM_RESTART_COUNT=0 SLURM_NNODES=3 \
		SLURM_JOB_NODELIST='n[1-3]' /opt/egs/bin/egs phase infer \
		"--gpus=$2" >"$notes/exports" 2>"$notes/why"
	rc=$?
	cat "$notes/why"
	return "$rc"
}

# has JOB NODES GPUS: scontrol shows these nodes and GPUs
has()
{
	as root scontrol show job -d "$1" >"$notes/job" &&
	grep -q " NodeList=$2\$" "$notes/job" &&
	grep -qE "TRES=.*gres/gpu.*=$3(,|\$)|Nodes=$2 .*GRES=gpu:a100:2" \
		"$notes/job"
}

# step_on NODES: submit a job with a step on NODES of its nodes
step_on()
{
	whole --wrap="srun -N$1 -n$1 --gres=none sleep 1000 & wait"
}

check_without_live_resize()
{
	test_expect_success "$version: LiveResize=no allows the release of whole nodes" '
		job=$(once_running submit --nodes=3 --gres=gpu:a100:2 --mem=400 \
			--phase=train hold.sh) &&
		test_must_fail shrink "$job" 3 && has "$job" "n\[1-3\]" 6 &&
		shrink "$job" 2 && has "$job" n1 2 &&
		grep "LiveResize=no; the job gives back whole nodes" "$notes/why" &&
		as root scancel "$job" && wait_queue_empty && invariants_hold &&
		as root sed -i s/LiveResize=no/LiveResize=yes/ /etc/slurm/egs.conf &&
		egsctl reconfigure
	'
}

check_release()
{
	test_expect_success "$version: egs phase releases a whole node and explains why" '
		job=$(once_running whole hold.sh) &&
		next=$(submit --user=bob --gres=gpu:a100:2 --mem=100 hold.sh) &&
		wait_until 60 "$next waits" waits_for_resources "$next" &&
		shrink "$job" 4 &&
		grep "cannot be resized while it runs: 4 GPUs cannot be divided" \
			"$notes/why" &&
		grep "the job gives back whole nodes" "$notes/why" &&
		has "$job" "n\[1-2\]" 4 &&
		grep -qx "export SLURM_NNODES='\''2'\''" "$notes/exports" &&
		grep -qx "export SLURM_JOB_NODELIST='\''n\[1-2\]'\''" \
			"$notes/exports" &&
		grep -qx "export EGS_PHASE='\''infer'\''" "$notes/exports" &&
		wait_state "$next" RUNNING && job_is "$job" RUNNING &&
		invariants_hold
	'
	test_expect_success "$version: the smaller node list survives a restart of slurmctld" '
		restart_slurmctld && has "$job" "n\[1-2\]" 4 &&
		job_is "$job" RUNNING && invariants_hold
	'
	test_expect_success "$version: a job can shrink to the node of its batch script" '
		shrink "$job" 2 && has "$job" n1 2 && job_is "$job" RUNNING &&
		grep "has whole nodes and cannot be resized while it runs" \
			"$notes/why" &&
		test_must_fail shrink "$job" 1 && has "$job" n1 2 &&
		invariants_hold
	'
	test_expect_success "$version: a requeued job runs on its submitted nodes" '
		as root scancel "$next" &&
		wait_until 60 "job $next ends" has_ended "$next" &&
		as root scontrol requeue "$job" &&
		wait_state "$job" PENDING &&
		wait_until 60 "job $job may start" start_soon "$job" &&
		wait_state "$job" RUNNING && has "$job" "n\[1-3\]" 6 &&
		as root scancel "$job" && wait_queue_empty && invariants_hold
	'
}

check_nodes_in_use()
{
	test_expect_success "$version: nodes with a step are not released" '
		job=$(once_running step_on 2) &&
		wait_until 60 "the step of job $job runs" \
			has_running_step "$job" &&
		test_must_fail shrink "$job" 2 &&
		grep "2 of its nodes have the batch script, a step" "$notes/why" &&
		has "$job" "n\[1-3\]" 6 &&
		shrink "$job" 4 && has "$job" "n\[1-2\]" 4 &&
		has_running_step "$job" && job_is "$job" RUNNING &&
		invariants_hold &&
		as root scancel "$job" && wait_queue_empty
	'
	test_expect_success "$version: released nodes can be used by other jobs" '
		job=$(once_running submit --nodes=3 --gres=gpu:a100:2 --mem=400 \
			--phase=train hold.sh) &&
		as root scancel "$job" && wait_queue_empty && invariants_hold
	'
}

# The task that starts last has the id of its array.
check_task()
{
	test_expect_success "$version: a task that has the id of its array releases nodes of its own" '
		array=$(submit --array=0-1%1 --nodes=2 --exclusive \
			--gres=gpu:a100:2 --mem=400 --phase=train hold.sh) &&
		wait_state "${array}_0" RUNNING &&
		as root scontrol requeuehold "${array}_0" &&
		wait_state "${array}_0" PENDING &&
		wait_state "${array}_1" RUNNING &&
		test "$(job_field "${array}_1" JobId)" = "$array" &&
		shrink "$array" 2 &&
		test "$(job_field "${array}_1" NumNodes)" = 1 &&
		test "$(job_field "${array}_0" ReqNodeList)" = "(null)" &&
		as root scancel "$array" && wait_queue_empty && invariants_hold
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=3 gpus=2 egs-conf="$notes/egs.conf"
	test_expect_success "$version: egs-noded is up on every node" '
		wait_policyd slurmctld up && noded_up n1 && noded_up n2 &&
		noded_up n3
	'
	check_without_live_resize
	check_release
	check_nodes_in_use
	check_task
	cluster_down
}

run_before_24_11()
{
	cluster_up slurm="$version" nodes=2 gpus=2 egs-conf="$notes/egs.conf"
	test_expect_success "$version: before 24.11 no node is released, and egs phase explains why" '
		wait_policyd slurmctld up && noded_up n1 && noded_up n2 &&
		job=$(once_running submit --nodes=2 --exclusive --gres=gpu:a100:2 \
			--mem=400 --phase=train hold.sh) &&
		test_must_fail shrink "$job" 2 &&
		grep "before 24.11 Slurm stops while it waits" "$notes/why" &&
		has "$job" "n\[1-2\]" 4 &&
		as root scancel "$job" && wait_queue_empty && invariants_hold
	'
	cluster_down
}

run_version()
{
	if [ "$version" = 22.05 ]; then run_before_24_11; else run_all; fi
}

each_version run_version
test_done
