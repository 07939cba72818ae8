#!/bin/bash
# 7000-resize.t - a running job releases GPUs and gets more
# long: 60 s, a cluster of two nodes for each Slurm with plugins
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='GPUs of running jobs are released and added, and all of Slurm agrees'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/preempt.sh"
. "$srcdir/t/lib/sh/resize.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
LiveResize=yes
TierOrder=prod
Team=crew Users=alice,bob,carol,dave DefaultTier=prod
END

# hold USER GPUS [OPTION]...: submit a job on n1 with two cores for each GPU
hold()
{
	submit "--user=$1" --nodelist=n1 "--gres=gpu:a100:$2" \
		--cpus-per-task=$((2 * $2)) "--mem=$((1000 * $2))" \
		"${@:3}" hold.sh
}

# sized JOB GPUS CPUS MEM: scontrol and squeue show this size in all fields
sized()
{
	as root scontrol show job -d "$1" >"$notes/job" &&
	grep -q " Nodes=n1 CPU_IDs=.* Mem=$4 GRES=gpu:a100:$2(IDX:" "$notes/job" &&
	grep -q "TresPerNode=gres.gpu:a100:$2\$" "$notes/job" &&
	grep -q "NumCPUs=$3 " "$notes/job" &&
	grep -qE " (Alloc)?TRES=cpu=$3,mem=$4M,node=1" "$notes/job" &&
	as root squeue -h -j "$1" -o %b | grep -q ":a100:$2\$"
}

shrink()
{
	as "$1" scontrol update JobId="$2" "Gres=gpu:$3"
}

# give_back JOB GPUS: the update that egs-policyd sends, with the memory that
# egs-noded has reported
give_back()
{
	as root scontrol update JobId="$1" \
		AdminComment="egs:1;resize;gpus=$2;open=n1:0:50"
}

# alloc_mem JOB: the memory of a job on its node, in MB
alloc_mem()
{
	as root scontrol show job -d "$1" |
		sed -n "s/.* CPU_IDs=.* Mem=\([0-9]*\) .*/\1/p"
}

# mark_helper HELPER JOB: as egs-policyd submits a helper job
mark_helper()
{
	local comment

	comment=$(job_field "$1" AdminComment)
	as root scontrol update JobId="$1" \
		AdminComment="${comment:-egs:1};helper=$2"
}

# take JOB HELPER: the update that egs-policyd sends
take()
{
	as root scontrol update JobId="$1" AdminComment="egs:1;resize;take=$2"
}

# refused CMD...: CMD fails, and no job has changed
refused()
{
	holdings >"$notes/before" &&
	! "$@" && holdings >"$notes/after" &&
	test_cmp "$notes/before" "$notes/after"
}

holdings()
{
	as root scontrol show job -d |
		grep -E '^JobId=|NumCPUs=| CPU_IDs=|TresPerNode='
}

# step JOB GPUS: print the GPUs that a step sees
step()
{
	as alice srun --quiet --jobid="$1" --ntasks=1 --cpus-per-task=1 \
		--mem=10 "--gres=gpu:a100:$2" printenv CUDA_VISIBLE_DEVICES
}

check_shrink()
{
	test_expect_success "$version: a job releases 3 of 4 GPUs with their cores and memory" '
		job=$(once_running hold alice 4) &&
		next=$(hold bob 3) &&
		wait_until 60 "$next waits" waits_for_resources "$next" &&
		give_back "$job" 1 &&
		wait_state "$next" RUNNING &&
		sized "$job" 1 2 1000 && sized "$next" 3 6 3000 &&
		test "$(gpus "$job")" = 0 && test "$(gpus "$next")" = 1-3 &&
		invariants_hold
	'
	test_expect_success "$version: a job that scontrol resizes keeps the memory of its batch script" '
		other=$(once_running submit --nodelist=n2 --gres=gpu:a100:4 \
			--mem=4000 hold.sh) &&
		shrink root "$other" 2 && test "$(gpus "$other")" = 0-1 &&
		test "$(alloc_mem "$other")" = 4000
	'
	test_expect_success "$version: a job keeps the memory that its processes have" '
		as root scontrol update JobId="$other" \
			AdminComment="egs:1;resize;gpus=1;open=n2:0:3000" &&
		test "$(gpus "$other")" = 0 &&
		test "$(alloc_mem "$other")" = 3000 &&
		as root scancel "$other"
	'
	test_expect_success "$version: a step of a shrunk job gets its remaining GPU and no more" '
		test "$(step "$job" 1)" = 0 &&
		test_must_fail step "$job" 2
	'
	test_expect_success "$version: the new sizes survive a restart of slurmctld" '
		restart_slurmctld &&
		sized "$job" 1 2 1000 && sized "$next" 3 6 3000 &&
		invariants_hold
	'
	test_expect_success "$version: invalid and forbidden resizes are refused and change nothing" '
		refused shrink bob "$job" 1 &&
		refused shrink alice "$job" 1 &&
		grep "job $job: GPUs of a running job change by .egs phase" \
			"$(log_of "$cluster")" &&
		refused shrink root "$job" 0 &&
		refused shrink root "$job" -1 &&
		refused shrink root "$job" 5 &&
		refused shrink root "$job" h100:1 &&
		refused shrink root "$job" h100:1,gpu:a100:1 &&
		refused as root scontrol update JobId="$next" Gres=gpu:2 \
			TimeLimit=10 &&
		refused as alice scontrol update JobId="$job" \
			AdminComment="egs:1;resize;take=$next" &&
		refused take "$job" "$next" &&
		refused take "$job" 99999 &&
		refused take "$job" "$job"
	'
	test_expect_success "$version: keep-cores releases GPUs and keeps the cores" '
		as root scontrol update JobId="$next" \
			AdminComment="egs:1;resize;gpus=2;keep-cores" &&
		sized "$next" 2 6 3000 && invariants_hold
	'
}

check_grow()
{
	test_expect_success "$version: a job takes over the GPUs of its helper job" '
		as root scancel "$next" &&
		wait_until 60 "$next ends" has_ended "$next" &&
		helper=$(once_running hold alice 3) &&
		mark_helper "$helper" "$job" &&
		refused as alice scontrol update JobId="$job" \
			AdminComment="egs:1;resize;take=$helper" &&
		take "$job" "$helper" &&
		sized "$job" 4 8 4000 &&
		invariants_hold
	'
	test_expect_success "$version: the end of the helper job takes no GPU from the job" '
		refused take "$job" "$helper" &&
		as root scancel "$helper" &&
		wait_until 60 "$helper ends" has_ended "$helper" &&
		sized "$job" 4 8 4000 && test "$(gpus "$job")" = 0-3 &&
		invariants_hold
	'
	test_expect_success "$version: a step of a grown job can use all GPUs" '
		test "$(step "$job" 4)" = 0,1,2,3
	'
	test_expect_success "$version: only one of two helper jobs gets the last GPU" '
		give_back "$job" 3 &&
		other=$(once_running hold alice 1) &&
		give_back "$job" 2 &&
		one=$(once_running hold alice 1) && mark_helper "$one" "$job" &&
		two=$(hold alice 1) && mark_helper "$two" "$other" &&
		wait_until 60 "$two waits" waits_for_resources "$two" &&
		refused take "$other" "$two" &&
		refused take "$other" "$one" &&
		take "$job" "$one" && as root scancel "$one" "$two" &&
		wait_until 60 "$one ends" has_ended "$one" &&
		sized "$job" 3 6 3000 && sized "$other" 1 2 1000 &&
		invariants_hold
	'
}

# full_step JOB: print the GPUs of a step with the full size of the grown job
full_step()
{
	as alice srun --quiet --jobid="$1" --ntasks=1 --cpus-per-task=8 \
		--mem=4000 --gres=gpu:a100:4 printenv CUDA_VISIBLE_DEVICES
}

no_underflow()
{
	! grep -q underflow "$EGS_SANDBOX_DIR/$cluster/log/slurmctld.log"
}

check_step_while_growing()
{
	test_expect_success "$version: a step that runs while its job grows gives back its own CPUs" '
		as root scancel "$other" "$job" && wait_queue_empty &&
		job=$(submit --nodelist=n1 --gres=gpu:a100:1 -c 2 --mem=1000 \
			--wrap="srun sh $jobs/hold.sh; srun -c 8 --exact true") &&
		wait_state "$job" RUNNING &&
		wait_until 60 "the step of job $job runs" \
			has_running_step "$job" &&
		helper=$(once_running hold alice 3) &&
		mark_helper "$helper" "$job" && take "$job" "$helper" &&
		as root scancel "$helper" &&
		wait_until 60 "$helper ends" has_ended "$helper" &&
		sized "$job" 4 8 4000 && as alice touch go &&
		wait_state "$job" COMPLETED && as alice rm go &&
		no_underflow && invariants_hold
	'
}

check_beyond_submission()
{
	test_expect_success "$version: a job that grows beyond its submission can use all GPUs" '
		other=$(once_running hold alice 1) &&
		helper=$(once_running hold alice 3) &&
		mark_helper "$helper" "$other" &&
		take "$other" "$helper" && as root scancel "$helper" &&
		wait_until 60 "$helper ends" has_ended "$helper" &&
		sized "$other" 4 8 4000 &&
		test "$(full_step "$other")" = 0,1,2,3 &&
		restart_slurmctld && test "$(full_step "$other")" = 0,1,2,3 &&
		as root scontrol requeue "$other" &&
		wait_state "$other" PENDING &&
		job_field "$other" TresPerNode | grep -q :a100:1 &&
		job_field "$other" MinMemoryNode | grep -qx 1000M &&
		invariants_hold
	'
}

check_gpus_in_use()
{
	test_expect_success "$version: GPUs in use by a step are not released" '
		as root scancel "$other" && wait_queue_empty &&
		job=$(submit --nodelist=n1 --gres=gpu:a100:4 -c 8 --mem=4000 \
			--wrap="srun -n 1 --exact -c 2 --mem=1000 --gres=gpu:a100:3 sleep 1000") &&
		wait_state "$job" RUNNING &&
		wait_until 60 "the step of job $job runs" \
			has_running_step "$job" &&
		refused shrink root "$job" 2 &&
		give_back "$job" 3 &&
		sized "$job" 3 6 3000 &&
		invariants_hold
	'
	# In any order: updates that need more GPUs are refused.
	test_expect_success "$version: the smallest of ten concurrent resizes wins" '
		as root scancel "$job" && wait_queue_empty &&
		job=$(once_running hold alice 4) &&
		as root sh -c "for n in 4 3 4 2 3 2 1 1 2 1; do
			scontrol update JobId=$job Gres=gpu:\$n & done; wait" &&
		sized "$job" 1 2 4000 &&
		invariants_hold
	'
}

check_requeue()
{
	test_expect_success "$version: a resized job that is requeued has its submitted size" '
		as root scontrol requeue "$job" &&
		wait_state "$job" PENDING &&
		job_field "$job" TresPerNode | grep -q :a100:4 &&
		! job_field "$job" AdminComment | grep "size=" &&
		as root scancel "$job" && wait_queue_empty && invariants_hold
	'
	test_expect_success "$version: a job with restart=phase that is requeued has its last size" '
		job=$(once_running hold alice 4 --egs=restart=phase) &&
		give_back "$job" 2 && as root scontrol requeue "$job" &&
		wait_state "$job" PENDING &&
		job_field "$job" TresPerNode | grep -q :a100:2 &&
		as root scancel "$job" && wait_queue_empty && invariants_hold
	'
	check_failures
	test_expect_success "$version: with LiveResize=no a resize is refused as by stock Slurm" '
		job=$(once_running hold alice 2) &&
		give_back "$job" 2 &&
		as root sed -i s/LiveResize=yes/LiveResize=no/ /etc/slurm/egs.conf &&
		wait_until 60 "the resize is refused" \
			refused shrink root "$job" 2 &&
		as root scancel "$job" && wait_queue_empty
	'
}

check_failures()
{
	test_expect_success "$version: a helper job gives nothing to a job that has ended" '
		job=$(once_running hold alice 1) &&
		helper=$(once_running hold alice 3) &&
		mark_helper "$helper" "$job" &&
		as root scancel "$job" &&
		wait_until 60 "$job ends" has_ended "$job" &&
		refused take "$job" "$helper" && invariants_hold &&
		as root scancel "$helper" && wait_queue_empty && invariants_hold
	'
	# 26.05 itself has renamed a job before its failed node reports its end.
	allow_error 'could not find JobId=[0-9]+ SLUID='
	test_expect_success "$version: the node of a resized job fails, and no GPU is lost" '
		job=$(once_running hold alice 4) && give_back "$job" 3 &&
		other=$(once_running hold bob 1) && give_back "$job" 2 &&
		as root scontrol update NodeName=n1 State=DOWN Reason=test &&
		wait_until 60 "$job leaves n1" job_is "$job" PENDING &&
		job_field "$job" TresPerNode | grep -q :a100:4 &&
		as root scancel "$job" "$other" && wait_queue_empty &&
		wait_until 60 "n1 is back" nodes_report &&
		next=$(once_running hold bob 4) && sized "$next" 4 8 4000 &&
		invariants_hold &&
		as root scancel "$next" && wait_queue_empty
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=2 gpus=4 egs-conf="$notes/egs.conf"
	allow_error 'Security violation, JOB_UPDATE RPC'
	allow_error 'Attempt to change admin_comment'
	check_shrink
	check_grow
	check_step_while_growing
	check_beyond_submission
	check_gpus_in_use
	check_requeue
	cluster_down
}

each_version run_all
test_done
