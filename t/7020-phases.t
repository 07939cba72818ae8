#!/bin/bash
# 7020-phases.t - egs phase shrinks and grows a running job
# long: 90 s, a cluster and its daemon for each Slurm with plugins
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='egs phase changes the GPUs of a running job'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"
. "$srcdir/t/lib/sh/resize.sh"
. "$srcdir/t/lib/sh/noded.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
LiveResize=yes
TierOrder=prod,research
PollInterval=1s
GpuType=a100
Phase=eval Gpus=2
Phase=audit Partitions=serve
Team=fraud Users=alice Quota=a100:2 DefaultTier=research
Team=vision Users=bob Quota=a100:2 DefaultTier=research
Workload=fraud Team=fraud Phase=infer Floor=a100:2
END

# train OPTION... SCRIPT: submit a job with all GPUs of the one node
train()
{
	submit --gres=gpu:a100:4 --cpus-per-task=8 --mem=4000 --time=60 \
		--phase=train --phase-gpus=train:4,infer:1,retrain:4 "$@"
}

# helper JOB: print the id of its helper job
helper()
{
	as root squeue -h -n "egs-grow:$1" -o %i
}

has_helper()
{
	[ -n "$(helper "$1")" ]
}

has_no_helper()
{
	! has_helper "$1"
}

others()
{
	submit --user=bob --gres=gpu:a100:3 --cpus-per-task=6 --mem=100 hold.sh
}

check_shrink_and_grow()
{
	test_expect_success "$version: a phase with fewer GPUs lets a waiting job start" '
		as alice rm -f data stop && job=$(train live.sh) &&
		wait_state "$job" RUNNING &&
		next=$(others) &&
		wait_output "$job" "begin: gpus 0,1,2,3 cpus 8 train" &&
		wait_output "$job" "train: gpus 0,1,2,3" &&
		wait_output "$job" "serve: gpus 0 cpus 2 infer" &&
		wait_output "$job" "server: gpus 0" &&
		wait_state "$next" RUNNING &&
		invariants_hold
	'
	test_expect_success "$version: a phase with more GPUs puts a helper job in the queue" '
		as alice touch data &&
		wait_until 60 "there is a helper" has_helper "$job" &&
		id=$(helper "$job") &&
		job_field "$id" UserId | grep -q "^alice(" &&
		job_field "$id" TimeLimit | grep -qE "^(00:5|01:00)" &&
		invariants_hold
	'
	test_expect_success "$version: a waiting job outlives a crash of both daemons" '
		stop_policyd KILL && kill_noded n1 && policyd_up &&
		has_helper "$job" && job_is "$job" RUNNING
	'
	test_expect_success "$version: the job gets its GPUs beside the step that runs" '
		as root scancel "$next" &&
		wait_output "$job" "retrain: gpus 0,1,2,3 cpus 8 retrain" &&
		wait_output "$job" "beside: gpus 1,2,3" &&
		has_no_helper "$job"
	'
	test_expect_success "$version: the job releases the GPUs again without a restart" '
		wait_output "$job" "again: gpus 0 cpus 2 infer" &&
		next=$(others) && wait_state "$next" RUNNING &&
		invariants_hold &&
		as alice touch stop && wait_state "$job" COMPLETED &&
		test "$(job_field "$job" Restarts)" = 0 &&
		as root scancel "$next" && wait_queue_empty
	'
}

# egs_phase JOB WORD...: run egs phase as alice, as if inside the job
egs_phase()
{
	as alice env SLURM_JOB_ID="$1" SLURM_RESTART_COUNT=0 \
		/opt/egs/bin/egs phase "${@:2}"
}

check_waiting()
{
	test_expect_success "$version: egs phase --timeout keeps the GPUs and the phase of the job" '
		job=$(train hold.sh) && wait_state "$job" RUNNING &&
		egs_phase "$job" infer >"$notes/exports" &&
		grep -qx "export CUDA_VISIBLE_DEVICES='\''0'\''" "$notes/exports" &&
		next=$(others) && wait_state "$next" RUNNING &&
		test_expect_code 3 egs_phase "$job" retrain --timeout=2s \
			>"$notes/exports" &&
		grep -qx "(exit 3)" "$notes/exports" &&
		wait_until 60 "the helper is gone" has_no_helper "$job" &&
		test "$(egs_phase "$job")" = infer
	'
	test_expect_success "$version: egs phase refuses impossible GPU counts and other users" '
		test_must_fail egs_phase "$job" infer --gpus=0 2>"$notes/why" &&
		grep "from 1 to" "$notes/why" &&
		test_must_fail egs_phase "$job" retrain --gpus=9 --timeout=20s \
			2>"$notes/why" &&
		grep "gets no GPUs" "$notes/why" &&
		test_must_fail egs_phase "$job" infer --gpus=-1 2>"$notes/why" &&
		test_must_fail as bob env SLURM_JOB_ID="$job" \
			SLURM_RESTART_COUNT=0 /opt/egs/bin/egs phase infer \
			--gpus=1 2>"$notes/why" &&
			grep "is not yours" "$notes/why" &&
		test "$(egs_phase "$job")" = infer
	'
	test_expect_success "$version: egs phase is refused in a partition where sbatch is" '
		test_must_fail egs_phase "$job" audit 2>"$notes/why" &&
		grep "phase audit refused in partition gpu: this phase is for serve" \
			"$notes/why" &&
		test "$(egs_phase "$job")" = infer
	'
	test_expect_success "$version: egs phase waits on while egs-policyd restarts" '
		{
			egs_phase "$job" retrain >"$notes/exports" 2>"$notes/why" &
			waiting=$!
		} &&
		wait_until 60 "there is a helper" has_helper "$job" &&
		stop_policyd KILL && policyd_up && has_helper "$job" &&
		as root scancel "$next" && wait "$waiting" &&
		grep -qx "export CUDA_VISIBLE_DEVICES='\''0,1,2,3'\''" \
			"$notes/exports" &&
		has_no_helper "$job" && egs_phase "$job" infer >/dev/null &&
		next=$(others) && wait_state "$next" RUNNING
	'
	test_expect_success "$version: a phase with Gpus= in egs.conf has that many GPUs" '
		as root scancel "$next" &&
		wait_until 60 "the job ends" has_ended "$next" &&
		egs_phase "$job" eval >"$notes/exports" &&
		grep -qx "export SLURM_GPUS_ON_NODE='\''2'\''" "$notes/exports" &&
		egs_phase "$job" prep >"$notes/exports" &&
		! grep CUDA "$notes/exports" && invariants_hold
	'
	test_expect_success "$version: a helper job ends with its job" '
		next=$(submit --user=bob --gres=gpu:a100:2 --mem=100 hold.sh) &&
		wait_state "$next" RUNNING &&
		egs_phase "$job" retrain --no-wait &&
		wait_until 60 "there is a helper" has_helper "$job" &&
		as root scancel "$job" &&
		wait_until 90 "the helper is gone" has_no_helper "$job" &&
		as root scancel "$next" && wait_queue_empty
	'
	test_expect_success "$version: a helper job ends also when its job ended while egs-policyd was down" '
		job=$(train hold.sh) && wait_state "$job" RUNNING &&
		egs_phase "$job" infer && next=$(others) &&
		wait_state "$next" RUNNING &&
		egs_phase "$job" retrain --no-wait &&
		wait_until 60 "there is a helper" has_helper "$job" &&
		stop_policyd KILL && as root scancel "$job" &&
		wait_until 60 "the job ends" has_ended "$job" && policyd_up &&
		wait_until 90 "the helper is gone" has_no_helper "$job" &&
		as root scancel "$next" && wait_queue_empty
	'
}

floor_holds()
{
	! egsctl shrink "$1" --gpus=1 --reason=no 2>"$notes/why" &&
	grep -q "part of its workload.s Floor" "$notes/why"
}

check_operator_shrink()
{
	test_expect_success "$version: egsctl shrink sends a notice and takes no GPU" '
		job=$(train hold.sh) && wait_state "$job" RUNNING &&
		next=$(others) &&
		wait_until 60 "$next waits" waits_for_resources "$next" &&
		test_must_fail egs_in_job "$job" yield --gpus=1 2>"$notes/why" &&
		grep "has no request to shrink" "$notes/why" &&
		for n in 0 4 -1; do
			test_must_fail egsctl shrink "$job" "--gpus=$n" \
				--reason=no 2>"$notes/why" &&
			grep "use fewer, at least 1" "$notes/why" || return 1
		done &&
		test_must_fail as bob /opt/egs/sbin/egsctl shrink "$job" \
			--gpus=1 --reason=mine &&
		test_must_fail egsctl shrink "$next" --gpus=1 --reason=no \
			2>"$notes/why" && grep "is not running" "$notes/why" &&
		egsctl shrink "$job" --gpus=1 --reason="the deadline of bob" &&
		wait_until 60 "job $job has a notice" \
			has_notice "$job" kind=shrink &&
		has_notice "$job" gpus=1 &&
		has_notice "$job" "reason=the deadline of bob" &&
		egs_in_job "$job" wait-request >"$notes/request" &&
		grep -qx kind=shrink "$notes/request" &&
		test_must_fail egs_in_job "$job" yield 2>"$notes/why" &&
		test_must_fail egs_in_job "$job" should-yield &&
		test "$(gpus "$job")" = 0-3 && job_is "$next" PENDING
	'
	test_expect_success "$version: egs yield --gpus releases the other GPUs for waiting jobs" '
		test_must_fail egs_in_job "$job" yield --gpus=5 2>"$notes/why" &&
		grep "keeps at least one" "$notes/why" &&
		egs_in_job "$job" yield --gpus=1 >"$notes/exports" &&
		grep -qx "export CUDA_VISIBLE_DEVICES='\''0'\''" "$notes/exports" &&
		wait_state "$next" RUNNING && test "$(gpus "$job")" = 0 &&
		wait_until 60 "the notice is gone" has_no_notice "$job" &&
		wait_why alice "$job" "continues with 1 GPUs" &&
		invariants_hold &&
		as root scancel "$job" "$next" && wait_queue_empty
	'
	test_expect_success "$version: egsctl shrink refuses a job that is the floor of its workload" '
		job=$(submit --gres=gpu:a100:2 --mem=100 --workload=fraud \
			--phase=infer hold.sh) &&
		wait_state "$job" RUNNING &&
		wait_until 60 "job $job is the floor" floor_holds "$job" &&
		test "$(gpus "$job")" = 0-1 &&
		as root scancel "$job" && wait_queue_empty
	'
}

runs_again()
{
	job_is "$1" RUNNING && [ "$(job_field "$1" Restarts)" = 1 ]
}

# Jobs with whole nodes cannot be resized while they run.
check_requeue_at_new_size()
{
	test_expect_success "$version: egs phase explains why a job with whole nodes cannot be resized" '
		job=$(train --exclusive --ckpt=file hold.sh) &&
		wait_state "$job" RUNNING &&
		test_must_fail egs_phase "$job" infer 2>"$notes/why" &&
		grep "has whole nodes and cannot be resized while it runs" \
			"$notes/why" &&
		grep "has not reported .egs saved. in this run" "$notes/why" &&
		test "$(gpus "$job")" = 0-3
	'
	test_expect_success "$version: a job with a checkpoint is requeued at the new size" '
		egs_in_job "$job" saved --path=/tmp/last &&
		test_must_fail egs_phase "$job" infer 2>"$notes/why" &&
		grep "requeued and continues from its checkpoint with 1 GPUs" \
			"$notes/why" &&
		wait_until 90 "job $job runs again" runs_again "$job" &&
		test "$(job_field "$job" TresPerNode | sed "s/.*://")" = 1 &&
		! job_field "$job" AdminComment | grep "next=" &&
		test "$(as alice env SLURM_JOB_ID="$job" SLURM_RESTART_COUNT=1 \
			/opt/egs/bin/egs phase)" = infer &&
		invariants_hold && as root scancel "$job" && wait_queue_empty
	'
}

# prints_phase OPTION...: submit a job that prints the phase it starts in
prints_phase()
{
	train --open-mode=append "$@" --wrap="echo begins: \$EGS_PHASE; exec sleep 1000"
}

# slurmctld_has_phase PHASE: slurmctld has saved this phase for the first restart
# of a job that EGS did not preempt.
slurmctld_has_phase()
{
	as root grep -qazP "EGS_AGAIN=1\n\n$1\n\$" /var/lib/slurm/job_state
}

check_phase_after_restart()
{
	test_expect_success "$version: a preempted job with restart=phase restarts in its last phase" '
		job=$(prints_phase --ckpt=file --egs=restart=phase) &&
		wait_output "$job" "begins: train" && egs_phase "$job" infer &&
		egsctl preempt "$job" --reason=maintenance &&
		egs_in_job "$job" yield && wait_output "$job" "begins: infer" &&
		test "$(gpus "$job")" = 0 && invariants_hold &&
		as root scancel "$job" && wait_queue_empty
	'
	test_expect_success "$version: a requeued job with restart=phase restarts in its last phase without egs-policyd" '
		job=$(prints_phase --egs=restart=phase) &&
		wait_output "$job" "begins: train" &&
		egs_phase "$job" infer && as root scontrol requeue "$job" &&
		wait_state "$job" PENDING &&
		wait_until 60 "slurmctld has saved the phase of job $job" \
			slurmctld_has_phase infer &&
		stop_policyd KILL &&
		wait_until 60 "job $job may start" start_soon "$job" &&
		wait_output "$job" "begins: infer" && policyd_up &&
		test "$(gpus "$job")" = 0 &&
		as root scancel "$job" && wait_queue_empty
	'
	test_expect_success "$version: a requeued job without restart=phase restarts in its submitted phase" '
		job=$(prints_phase) && wait_output "$job" "begins: train" &&
		egs_phase "$job" infer && as root scontrol requeue "$job" &&
		wait_state "$job" PENDING &&
		wait_until 60 "job $job may start" start_soon "$job" &&
		wait_until 60 "job $job runs again" runs_again "$job" &&
		wait_until 60 "job $job prints its phase again" \
			printed_twice "$job" &&
		test "$(gpus "$job")" = 0-3 && invariants_hold &&
		as root scancel "$job" && wait_queue_empty
	'
}

printed_twice()
{
	[ "$(output "$1" | grep -cx "begins: train")" = 2 ]
}

run_all()
{
	cluster_up slurm="$version" nodes=1 gpus=4 egs-conf="$notes/egs.conf"
	test_expect_success "$version: egs-policyd has polled slurmctld" '
		wait_policyd slurmctld up
	'
	check_shrink_and_grow
	check_waiting
	check_operator_shrink
	check_requeue_at_new_size
	check_phase_after_restart
	cluster_down
}

each_version run_all
test_done
