#!/bin/bash
# 6020-frameworks.t - jobs of frameworks without EGS code lose no step
# long: 120 s, seven jobs are preempted together, on two releases of Slurm
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='unmodified jobs of seven frameworks lose no step when preempted'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

# EGS_ROUNDS=10 runs more rounds
rounds=${EGS_ROUNDS:-2}
kinds='bash lightning submitit hf megatron torchrun shards'

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,scavenge
PollInterval=1s
GpuType=a100
Tier=prod Partitions=serve
Tier=scavenge Partitions=scavenge Loan=always MinRuntime=0s \
	MaxPreemptions=none GraceMin=60s GraceMax=60s
Team=fraud Users=alice Quota=none DefaultTier=scavenge
Team=vision Users=bob Quota=a100:16 DefaultTier=prod
END

# steps JOB: how many steps it has done
steps()
{
	as alice sh -c "cat run-$1/work*" 2>/dev/null | wc -l
}

# works JOB ROUND: it has ROUND restarts and does new steps
works()
{
	job_is "$1" RUNNING && [ "$(restarts "$1")" = "$2" ] &&
	[ "$(steps "$1")" -gt "$(cat "$notes/steps-$1" 2>/dev/null || echo 0)" ]
}

all_work()
{
	local job

	for job in $jobs_of_alice; do
		wait_until 120 "job $job works, restarts=$1" \
			works "$job" "$1" ||
			{ as root squeue -l; return 1; }
	done
}

# preempt: run a job that needs all GPUs
preempt()
{
	local requester

	requester=$(submit --user=bob --partition=serve -N2 --gres=gpu:a100:8 \
		--wrap true) &&
	wait_state "$requester" COMPLETED 150 &&
	for job in $jobs_of_alice; do
		steps "$job" >"$notes/steps-$job"
	done
}

# no_step_lost JOB: every step was done exactly once, in each shard
no_step_lost()
{
	local work

	for work in $(as alice sh -c "ls run-$1/work*"); do
		as alice cat "$work" >"$notes/work" &&
		seq "$(wc -l <"$notes/work")" | cmp - "$notes/work" || return
	done
}

frameworks()
{
	cluster_up slurm="$version" nodes=2 gpus=8 cores=8 egs-conf="$notes/egs.conf"
	rm -f "$notes"/steps-*
	test_expect_success "$version: jobs of seven frameworks train" '
		jobs_of_alice= &&
		for kind in $kinds; do
			job=$(submit --partition=scavenge --gres=gpu:a100:1 \
				"like-$kind.sh") || return
			jobs_of_alice="$jobs_of_alice $job"
		done &&
		all_work 0
	'
	for round in $(seq "$rounds"); do
		test_expect_success "$version: all jobs are preempted and restart ($round)" '
			preempt && all_work "$round"
		'
	done
	test_expect_success "$version: all jobs complete" '
		as alice touch enough &&
		for job in $jobs_of_alice; do
			wait_state "$job" COMPLETED || return
		done
	'
	for kind in $kinds; do
		test_expect_success "$version: the job like $kind lost no step and did none twice" '
			set -- $jobs_of_alice && jobs_of_alice="${*:2}" &&
			no_step_lost "$1" && test "$(restarts "$1")" = "$rounds"
		'
	done
	cluster_down
}

each_version frameworks
cluster_done
