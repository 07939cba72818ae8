#!/bin/bash
# 7020-phases.t - egs phase moves GPUs of a running job, both ways
# long: 90 s, a cluster and its daemon for each Slurm with plugins
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='a job goes through its phases, and its GPUs with it'
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
Team=fraud Users=alice Quota=a100:2 DefaultTier=research
Team=vision Users=bob Quota=a100:2 DefaultTier=research
Workload=fraud Team=fraud Phase=infer Floor=a100:2
END

# train OPTION... SCRIPT: a job with all GPUs of the one node
train()
{
	submit --gres=gpu:a100:4 --cpus-per-task=8 --mem=4000 --time=60 \
		--phase=train --phase-gpus=train:4,infer:1,retrain:4 "$@"
}

# helper JOB: the job that waits for it
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

one_life()
{
	test_expect_success "$version: 3 of 4 GPUs go back, and who waits for them runs" '
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
	test_expect_success "$version: asking for more means to wait in the queue" '
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
	test_expect_success "$version: then it has them beside its server" '
		as root scancel "$next" &&
		wait_output "$job" "retrain: gpus 0,1,2,3 cpus 8 retrain" &&
		wait_output "$job" "beside: gpus 1,2,3" &&
		has_no_helper "$job"
	'
	test_expect_success "$version: and gives them back, in one life" '
		wait_output "$job" "again: gpus 0 cpus 2 infer" &&
		next=$(others) && wait_state "$next" RUNNING && invariants_hold &&
		as alice touch stop && wait_state "$job" COMPLETED &&
		test "$(job_field "$job" Restarts)" = 0 &&
		as root scancel "$next" && wait_queue_empty
	'
}

# say_in JOB WORDS...: the command as it is called in a job
say_in()
{
	as alice env SLURM_JOB_ID="$1" SLURM_RESTART_COUNT=0 \
		/opt/egs/bin/egs phase "${@:2}"
}

impatient()
{
	test_expect_success "$version: who does not wait keeps what it has" '
		job=$(train hold.sh) && wait_state "$job" RUNNING &&
		say_in "$job" infer >"$notes/exports" &&
		grep -qx "export CUDA_VISIBLE_DEVICES='\''0'\''" "$notes/exports" &&
		next=$(others) && wait_state "$next" RUNNING &&
		test_expect_code 3 say_in "$job" retrain --timeout=2s \
			>"$notes/exports" &&
		grep -qx "(exit 3)" "$notes/exports" &&
		wait_until 60 "the helper is gone" has_no_helper "$job" &&
		test "$(say_in "$job")" = infer
	'
	test_expect_success "$version: refusals are sentences" '
		test_must_fail say_in "$job" infer --gpus=0 2>"$notes/why" &&
		grep "from 1 to" "$notes/why" &&
		test_must_fail say_in "$job" retrain --gpus=9 --timeout=20s \
			2>"$notes/why" &&
		grep "gets no GPUs" "$notes/why" &&
		test_must_fail say_in "$job" infer --gpus=-1 2>"$notes/why" &&
		test_must_fail as bob env SLURM_JOB_ID="$job" \
			SLURM_RESTART_COUNT=0 /opt/egs/bin/egs phase infer \
			--gpus=1 2>"$notes/why" && grep "is not yours" "$notes/why" &&
		test "$(say_in "$job")" = infer
	'
	test_expect_success "$version: egs phase waits on while egs-policyd restarts" '
		{
			say_in "$job" retrain >"$notes/exports" 2>"$notes/why" &
			waiting=$!
		} &&
		wait_until 60 "there is a helper" has_helper "$job" &&
		stop_policyd KILL && policyd_up && has_helper "$job" &&
		as root scancel "$next" && wait "$waiting" &&
		grep -qx "export CUDA_VISIBLE_DEVICES='\''0,1,2,3'\''" \
			"$notes/exports" &&
		has_no_helper "$job" && say_in "$job" infer >/dev/null &&
		next=$(others) && wait_state "$next" RUNNING
	'
	test_expect_success "$version: a phase of the site wants what egs.conf says" '
		as root scancel "$next" && wait_until 60 "it ends" has_ended "$next" &&
		say_in "$job" eval >"$notes/exports" &&
		grep -qx "export SLURM_GPUS_ON_NODE='\''2'\''" "$notes/exports" &&
		say_in "$job" prep >"$notes/exports" &&
		! grep CUDA "$notes/exports" && invariants_hold
	'
	test_expect_success "$version: a helper does not outlive its job" '
		next=$(submit --user=bob --gres=gpu:a100:2 --mem=100 hold.sh) &&
		wait_state "$next" RUNNING &&
		say_in "$job" retrain --no-wait &&
		wait_until 60 "there is a helper" has_helper "$job" &&
		as root scancel "$job" &&
		wait_until 90 "the helper is gone" has_no_helper "$job" &&
		as root scancel "$next" && wait_queue_empty
	'
	test_expect_success "$version: nor does one whose job ends while the daemon is away" '
		job=$(train hold.sh) && wait_state "$job" RUNNING &&
		say_in "$job" infer && next=$(others) &&
		wait_state "$next" RUNNING && say_in "$job" retrain --no-wait &&
		wait_until 60 "there is a helper" has_helper "$job" &&
		stop_policyd KILL && as root scancel "$job" &&
		wait_until 60 "it ends" has_ended "$job" && policyd_up &&
		wait_until 90 "the helper is gone" has_no_helper "$job" &&
		as root scancel "$next" && wait_queue_empty
	'
}

floor_holds()
{
	! egsctl shrink "$1" --gpus=1 --reason=no 2>"$notes/why" &&
	grep -q "part of its workload.s Floor" "$notes/why"
}

fewer()
{
	test_expect_success "$version: an operator asks a job to shrink, and nothing is taken" '
		job=$(train hold.sh) && wait_state "$job" RUNNING &&
		next=$(others) && wait_until 60 "$next waits" waits_for_resources "$next" &&
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
		wait_until 60 "it is told" has_notice "$job" kind=shrink &&
		has_notice "$job" gpus=1 && has_notice "$job" "reason=the deadline of bob" &&
		egs_in_job "$job" wait-request >"$notes/request" &&
		grep -qx kind=shrink "$notes/request" &&
		test_must_fail egs_in_job "$job" yield 2>"$notes/why" &&
		test_must_fail egs_in_job "$job" should-yield &&
		test "$(gpus "$job")" = 0-3 && job_is "$next" PENDING
	'
	test_expect_success "$version: it answers with what it keeps, and the others run" '
		test_must_fail egs_in_job "$job" yield --gpus=5 2>"$notes/why" &&
		grep "keeps at least one" "$notes/why" &&
		egs_in_job "$job" yield --gpus=1 >"$notes/exports" &&
		grep -qx "export CUDA_VISIBLE_DEVICES='\''0'\''" "$notes/exports" &&
		wait_state "$next" RUNNING && test "$(gpus "$job")" = 0 &&
		wait_until 60 "it is asked no more" has_no_notice "$job" &&
		wait_why alice "$job" "continues with 1 GPUs" && invariants_hold &&
		as root scancel "$job" "$next" && wait_queue_empty
	'
	test_expect_success "$version: of a floor nothing is taken" '
		job=$(submit --gres=gpu:a100:2 --mem=100 --workload=fraud \
			--phase=infer hold.sh) &&
		wait_state "$job" RUNNING &&
		wait_until 60 "that is said" floor_holds "$job" &&
		test "$(gpus "$job")" = 0-1 &&
		as root scancel "$job" && wait_queue_empty
	'
}

runs_again()
{
	job_is "$1" RUNNING && [ "$(job_field "$1" Restarts)" = 1 ]
}

# Whole nodes are not resized while a job runs, and no site has to allow it.
another_way()
{
	test_expect_success "$version: who cannot be resized keeps all, and hears why" '
		job=$(train --exclusive --ckpt=file hold.sh) &&
		wait_state "$job" RUNNING &&
		test_must_fail say_in "$job" infer 2>"$notes/why" &&
		grep "has whole nodes and cannot be resized while it runs" \
			"$notes/why" &&
		grep "has not reported .egs saved. in this run" "$notes/why" &&
		test "$(gpus "$job")" = 0-3
	'
	test_expect_success "$version: once it has saved, it is requeued at the new size" '
		egs_in_job "$job" saved --path=/tmp/last &&
		test_must_fail say_in "$job" infer 2>"$notes/why" &&
		grep "requeued and goes on from its checkpoint with 1 GPUs" \
			"$notes/why" &&
		wait_until 90 "it runs again" runs_again "$job" &&
		test "$(job_field "$job" TresPerNode | sed "s/.*://")" = 1 &&
		! job_field "$job" AdminComment | grep "next=" &&
		test "$(as alice env SLURM_JOB_ID="$job" SLURM_RESTART_COUNT=1 \
			/opt/egs/bin/egs phase)" = infer &&
		invariants_hold && as root scancel "$job" && wait_queue_empty
	'
}

# speaks OPTION...: a job that says in which phase it begins
speaks()
{
	train "$@" --wrap="echo begins: \$EGS_PHASE; exec sleep 1000"
}

in_its_phase()
{
	test_expect_success "$version: with restart=phase it goes on in its phase, and is told" '
		job=$(speaks --ckpt=file --egs=restart=phase) &&
		wait_output "$job" "begins: train" && say_in "$job" infer &&
		egsctl preempt "$job" --reason=maintenance &&
		egs_in_job "$job" yield && wait_output "$job" "begins: infer" &&
		test "$(gpus "$job")" = 0 && invariants_hold &&
		as root scancel "$job" && wait_queue_empty
	'
	test_expect_success "$version: also where nobody foresaw that it runs again" '
		job=$(speaks --egs=restart=phase) && wait_output "$job" "begins: train" &&
		say_in "$job" infer && as root scontrol requeue "$job" &&
		wait_state "$job" PENDING &&
		wait_until 60 "it may begin" start_soon "$job" &&
		wait_output "$job" "begins: infer" && test "$(gpus "$job")" = 0 &&
		as root scancel "$job" && wait_queue_empty
	'
	test_expect_success "$version: else in that of its submission" '
		job=$(speaks) && wait_output "$job" "begins: train" &&
		say_in "$job" infer && as root scontrol requeue "$job" &&
		wait_state "$job" PENDING &&
		wait_until 60 "it may begin" start_soon "$job" &&
		wait_until 60 "it runs again" runs_again "$job" &&
		wait_until 60 "it has begun" told_twice "$job" &&
		test "$(gpus "$job")" = 0-3 && invariants_hold &&
		as root scancel "$job" && wait_queue_empty
	'
}

told_twice()
{
	[ "$(output "$1" | grep -cx "begins: train")" = 2 ]
}

phases()
{
	cluster_up slurm="$version" nodes=1 gpus=4 egs-conf="$notes/egs.conf"
	test_expect_success "$version: egs-policyd has looked at Slurm" '
		wait_policyd slurmctld up
	'
	one_life
	impatient
	fewer
	another_way
	in_its_phase
	cluster_down
}

each_version phases
test_done
