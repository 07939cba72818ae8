#!/bin/bash
# 7040-release-nodes.t - a job that cannot give back GPUs gives back whole nodes
# long: 60 s, a cluster of three nodes and its daemon for each Slurm with plugins
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='jobs with whole nodes shrink by whole nodes'
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

# whole [OPTION]...: a job of alice with all of three nodes
whole()
{
	submit --nodes=3 --exclusive --gres=gpu:a100:2 --mem=400 \
		--phase=train "$@"
}

# keeps JOB GPUS: as it would be said in the job
keeps()
{
	local rc

	as alice env SLURM_JOB_ID="$1" SLURM_RESTART_COUNT=0 SLURM_NNODES=3 \
		SLURM_JOB_NODELIST='n[1-3]' /opt/egs/bin/egs phase infer \
		"--gpus=$2" >"$notes/exports" 2>"$notes/why"
	rc=$?
	cat "$notes/why"
	return "$rc"
}

# has JOB NODES GPUS: Slurm says so
has()
{
	as root scontrol show job -d "$1" >"$notes/job" &&
	grep -q " NodeList=$2\$" "$notes/job" &&
	grep -qE "TRES=.*gres/gpu.*=$3(,|\$)|Nodes=$2 .*GRES=gpu:a100:2" \
		"$notes/job"
}

# step_on NODES: a job with a step on so many of its nodes
step_on()
{
	whole --wrap="srun -N$1 -n$1 --gres=none sleep 1000 & wait"
}

without_live()
{
	test_expect_success "$version: LiveResize=no is no reason not to" '
		job=$(once_running submit --nodes=3 --gres=gpu:a100:2 --mem=400 \
			--phase=train hold.sh) &&
		test_must_fail keeps "$job" 3 && has "$job" "n\[1-3\]" 6 &&
		keeps "$job" 2 && has "$job" n1 2 &&
		grep "LiveResize=no; the job gives back whole nodes" "$notes/why" &&
		as root scancel "$job" && wait_queue_empty && invariants_hold &&
		as root sed -i s/LiveResize=no/LiveResize=yes/ /etc/slurm/egs.conf &&
		egsctl reconfigure
	'
}

goes()
{
	test_expect_success "$version: a job with whole nodes gives one back, and says why" '
		job=$(once_running whole hold.sh) &&
		next=$(submit --user=bob --gres=gpu:a100:2 --mem=100 hold.sh) &&
		wait_until 60 "$next waits" waits_for_resources "$next" &&
		keeps "$job" 4 &&
		grep "cannot be resized while it runs: 4 GPUs are not the same" \
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
	test_expect_success "$version: slurmctld starts again, and it is still so" '
		restart_slurmctld && has "$job" "n\[1-2\]" 4 &&
		job_is "$job" RUNNING && invariants_hold
	'
	test_expect_success "$version: and once more, down to the batch script" '
		keeps "$job" 2 && has "$job" n1 2 && job_is "$job" RUNNING &&
		grep "has whole nodes and cannot be resized while it runs" \
			"$notes/why" &&
		test_must_fail keeps "$job" 1 && has "$job" n1 2 && invariants_hold
	'
	test_expect_success "$version: requeued, it runs on what it was submitted with" '
		as root scancel "$next" && wait_until 60 "it ends" has_ended "$next" &&
		as root scontrol requeue "$job" &&
		wait_state "$job" PENDING &&
		wait_until 60 "it may start" start_soon "$job" &&
		wait_state "$job" RUNNING && has "$job" "n\[1-3\]" 6 &&
		as root scancel "$job" && wait_queue_empty && invariants_hold
	'
}

stays()
{
	test_expect_success "$version: nodes with a step stay" '
		job=$(once_running step_on 2) &&
		wait_until 60 "its step runs" has_running_step "$job" &&
		test_must_fail keeps "$job" 2 &&
		grep "2 of its nodes have the batch script, a step" "$notes/why" &&
		has "$job" "n\[1-3\]" 6 &&
		keeps "$job" 4 && has "$job" "n\[1-2\]" 4 &&
		has_running_step "$job" && job_is "$job" RUNNING && invariants_hold &&
		as root scancel "$job" && wait_queue_empty
	'
	test_expect_success "$version: what it gave back is for anybody" '
		job=$(once_running submit --nodes=3 --gres=gpu:a100:2 --mem=400 \
			--phase=train hold.sh) &&
		as root scancel "$job" && wait_queue_empty && invariants_hold
	'
}

# Before 24.11 Slurm without slurmdbd would not let the job be changed again.
sheds()
{
	local dbd=''

	[ "$version" != 22.05 ] || dbd=dbd
	cluster_up slurm="$version" nodes=3 gpus=2 egs-conf="$notes/egs.conf" \
		$dbd
	test_expect_success "$version: egs-noded is everywhere" '
		wait_policyd slurmctld up && noded_up n1 && noded_up n2 &&
		noded_up n3
	'
	without_live
	goes
	stays
	cluster_down
}

each_version sheds

case " ${EGS_TEST_VERSIONS:-22.05} " in
*" 22.05 "*)
	cluster_up slurm=22.05 name=none nodes=2 gpus=2 \
		egs-conf="$notes/egs.conf"
	test_expect_success '22.05 without slurmdbd: all stays, and why is said' '
		wait_policyd slurmctld up && noded_up n1 && noded_up n2 &&
		job=$(once_running submit --nodes=2 --exclusive --gres=gpu:a100:2 \
			--mem=400 --phase=train hold.sh) &&
		test_must_fail keeps "$job" 2 &&
		grep "before 24.11 Slurm needs slurmdbd" "$notes/why" &&
		has "$job" "n\[1-2\]" 4 &&
		as root scancel "$job" && wait_queue_empty && invariants_hold
	'
	cluster_down
	;;
esac
test_done
