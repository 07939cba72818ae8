#!/bin/bash
# 7050-policy-shrink.t - jobs that can shrink are asked to before they are preempted
# long: 60 s, a cluster and its daemon for each Slurm with plugins
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='the policy asks jobs to shrink before it preempts them'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/noded.sh"
. "$srcdir/t/lib/sh/preempt.sh"
. "$srcdir/t/lib/sh/resize.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
LiveResize=yes
TierOrder=prod,research
PollInterval=1s
GpuType=a100
Tier=prod MinRuntime=0s
Tier=research MinRuntime=0s GraceMin=5s GraceNoAck=40s
Team=fraud Users=alice Quota=none DefaultTier=research Tiers=prod,research
Team=vision Users=bob Quota=a100:4 DefaultTier=research Tiers=prod,research
END

# lent [OPTION]...: submit a job of alice with all GPUs, on loan from bob's team
lent()
{
	submit --gres=gpu:a100:4 --cpus-per-task=4 --mem=400 --ckpt=file "$@" \
		hold.sh
}

# wants GPUS: submit a job of bob
wants()
{
	submit --user=bob "--gres=gpu:a100:$1" "--cpus-per-task=$1" --mem=100 \
		hold.sh
}

is_back()
{
	[ "$(job_field "$1" Restarts)" = 1 ]
}

check_shrink()
{
	test_expect_success "$version: a job on loan that can shrink gets a shrink notice" '
		job=$(once_running lent --egs=shrink-to=1) && next=$(wants 2) &&
		wait_until 60 "job $job has a notice" \
			has_notice "$job" kind=shrink &&
		has_notice "$job" gpus=2 &&
		wait_why bob "$next" \
			"job $job was asked to shrink to 2 GPUs and has" &&
		wait_why alice "$job" "asked to shrink to 2 GPUs" &&
		test "$(gpus "$job")" = 0-3 && job_is "$next" PENDING
	'
	test_expect_success "$version: a restarted egs-policyd has the same shrink notice" '
		number=$(sed -n "s/^request=//p" "$notes/request") &&
		stop_policyd KILL && policyd_up && wait_policyd slurmctld up &&
		wait_until 60 "job $job has a notice" \
			has_notice "$job" "request=$number"
	'
	test_expect_success "$version: a job that shrinks runs beside the requester" '
		egs_in_job "$job" yield --gpus=2 >"$notes/exports" &&
		grep -qx "export CUDA_VISIBLE_DEVICES='\''0,1'\''" \
			"$notes/exports" &&
		wait_state "$next" RUNNING && test "$(gpus "$job")" = 0-1 &&
		job_is "$job" RUNNING &&
		test "$(job_field "$job" Restarts)" = 0 &&
		wait_until 60 "the notice is gone" \
			has_no_notice "$job" && invariants_hold
	'
	test_expect_success "$version: a job that ignores a shrink notice is preempted" '
		other=$(wants 1) &&
		wait_until 60 "job $job has a notice" \
			has_notice "$job" kind=shrink &&
		has_notice "$job" gpus=1 &&
		job_is "$job" RUNNING && job_is "$other" PENDING &&
		wait_until 120 "job $job is requeued" is_back "$job" &&
		wait_state "$other" RUNNING && invariants_hold &&
		as root scancel "$job" "$next" "$other" && wait_queue_empty
	'
	test_expect_success "$version: a shrink notice is withdrawn when the requester is gone" '
		job=$(once_running lent --egs=shrink-to=1) && next=$(wants 2) &&
		wait_until 60 "job $job has a notice" \
			has_notice "$job" kind=shrink &&
		as root scancel "$next" &&
		wait_until 60 "the notice is gone" has_no_notice "$job" &&
		test "$(gpus "$job")" = 0-3 && job_is "$job" RUNNING &&
		test_must_fail egs_in_job "$job" yield --gpus=2 &&
		as root scancel "$job" && wait_queue_empty
	'
	test_expect_success "$version: a job without shrink-to gets no shrink notice" '
		job=$(once_running lent) && next=$(wants 2) &&
		wait_until 60 "job $job has a notice" \
			has_notice "$job" kind=yield &&
		egs_in_job "$job" yield && wait_state "$next" RUNNING &&
		invariants_hold && as root scancel "$job" "$next" &&
		wait_queue_empty
	'
}

grown()
{
	[ "$(gpus "$1")" = 0-3 ]
}

# GPUs that a job grows by count like the GPUs it starts with.
check_grow()
{
	test_expect_success "$version: a job that grows within its quota recalls a loan" '
		job=$(once_running wants 1) &&
		next=$(once_running submit --gres=gpu:a100:3 --cpus-per-task=3 \
			--mem=100 --ckpt=file hold.sh) &&
		as bob env SLURM_JOB_ID="$job" SLURM_RESTART_COUNT=0 \
			/opt/egs/bin/egs phase train --gpus=4 --no-wait &&
		wait_until 60 "job $next has a notice" \
			has_notice "$next" kind=yield &&
		helper=$(as root squeue -h -n "egs-grow:$job" -o "%i %u %M") &&
		test "$(echo "$helper" | cut -d" " -f2)" = bob &&
		test -z "$(job_field "${helper%% *}" MailType)" &&
		egs_in_job "$next" yield &&
		wait_until 60 "job $job has grown" grown "$job" &&
		job_is "$next" PENDING && job_is "$job" RUNNING &&
		invariants_hold &&
		as root scancel "$next" "$job" && wait_queue_empty
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=1 gpus=4 egs-conf="$notes/egs.conf"
	test_expect_success "$version: egs-policyd and egs-noded are up" '
		wait_policyd slurmctld up && noded_up n1
	'
	check_shrink
	check_grow
	cluster_down
}

each_version run_all
test_done
