#!/bin/bash
# 7050-policy-shrink.t - a job that can do with fewer GPUs is asked before it has to go
# long: 60 s, a cluster and its daemon for each Slurm with plugins
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='the policy asks for GPUs before it takes a job'
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

# lent [OPTION]...: a job of alice with all GPUs, which are bob's
lent()
{
	submit --gres=gpu:a100:4 --cpus-per-task=4 --mem=400 --ckpt=file "$@" \
		hold.sh
}

# wants GPUS: a job of bob
wants()
{
	submit --user=bob "--gres=gpu:a100:$1" "--cpus-per-task=$1" --mem=100 \
		hold.sh
}

is_back()
{
	[ "$(job_field "$1" Restarts)" = 1 ]
}

fewer()
{
	test_expect_success "$version: a loan is recalled: who can shrink is asked to" '
		job=$(once_running lent --egs=shrink-to=1) && next=$(wants 2) &&
		wait_until 60 "it is told" has_notice "$job" kind=shrink &&
		has_notice "$job" gpus=2 &&
		wait_why bob "$next" \
			"job $job was asked to shrink to 2 GPUs and has" &&
		wait_why alice "$job" "asked to shrink to 2 GPUs" &&
		test "$(gpus "$job")" = 0-3 && job_is "$next" PENDING
	'
	test_expect_success "$version: the daemon dies and comes back: it is the same request" '
		number=$(sed -n "s/^request=//p" "$notes/request") &&
		stop_policyd KILL && policyd_up && wait_policyd slurmctld up &&
		wait_until 60 "it is told" has_notice "$job" "request=$number"
	'
	test_expect_success "$version: it answers, and both run" '
		egs_in_job "$job" yield --gpus=2 >"$notes/exports" &&
		grep -qx "export CUDA_VISIBLE_DEVICES='\''0,1'\''" \
			"$notes/exports" &&
		wait_state "$next" RUNNING && test "$(gpus "$job")" = 0-1 &&
		job_is "$job" RUNNING && test "$(job_field "$job" Restarts)" = 0 &&
		wait_until 60 "it is asked no more" has_no_notice "$job" && invariants_hold
	'
	test_expect_success "$version: it is asked again, does not answer, and has to go" '
		other=$(wants 1) &&
		wait_until 60 "it is told" has_notice "$job" kind=shrink &&
		has_notice "$job" gpus=1 &&
		job_is "$job" RUNNING && job_is "$other" PENDING &&
		wait_until 120 "it is requeued" is_back "$job" &&
		wait_state "$other" RUNNING && invariants_hold &&
		as root scancel "$job" "$next" "$other" && wait_queue_empty
	'
	test_expect_success "$version: what is needed no more is not asked for" '
		job=$(once_running lent --egs=shrink-to=1) && next=$(wants 2) &&
		wait_until 60 "it is told" has_notice "$job" kind=shrink &&
		as root scancel "$next" &&
		wait_until 60 "it is asked no more" has_no_notice "$job" &&
		test "$(gpus "$job")" = 0-3 && job_is "$job" RUNNING &&
		test_must_fail egs_in_job "$job" yield --gpus=2 &&
		as root scancel "$job" && wait_queue_empty
	'
	test_expect_success "$version: who has not said that it can is not asked" '
		job=$(once_running lent) && next=$(wants 2) &&
		wait_until 60 "it is told" has_notice "$job" kind=yield &&
		egs_in_job "$job" yield && wait_state "$next" RUNNING &&
		invariants_hold && as root scancel "$job" "$next" && wait_queue_empty
	'
}

grown()
{
	[ "$(gpus "$1")" = 0-3 ]
}

# What a job grows by is its team's like anything else it starts with.
more()
{
	test_expect_success "$version: who grows inside its quota gets back what is lent" '
		job=$(once_running wants 1) &&
		next=$(once_running submit --gres=gpu:a100:3 --cpus-per-task=3 \
			--mem=100 --ckpt=file hold.sh) &&
		as bob env SLURM_JOB_ID="$job" SLURM_RESTART_COUNT=0 \
			/opt/egs/bin/egs phase train --gpus=4 --no-wait &&
		wait_until 60 "it is told" has_notice "$next" kind=yield &&
		helper=$(as root squeue -h -n "egs-grow:$job" -o "%i %u %M") &&
		test "$(echo "$helper" | cut -d" " -f2)" = bob &&
		test -z "$(job_field "${helper%% *}" MailType)" &&
		egs_in_job "$next" yield &&
		wait_until 60 "it has grown" grown "$job" &&
		job_is "$next" PENDING && job_is "$job" RUNNING && invariants_hold &&
		as root scancel "$next" "$job" && wait_queue_empty
	'
}

asks()
{
	cluster_up slurm="$version" nodes=1 gpus=4 egs-conf="$notes/egs.conf"
	test_expect_success "$version: egs-noded is there" '
		wait_policyd slurmctld up && noded_up n1
	'
	fewer
	more
	cluster_down
}

each_version asks
test_done
