#!/bin/bash
# 6020-frameworks.t - jobs that know nothing of EGS lose no step
# long: 120 s, seven jobs are preempted together, on two releases of Slurm
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='unmodified jobs are preempted again and again and lose nothing'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

# EGS_ROUNDS=10 as often as it takes to be sure
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

# steps JOB: how many it has done, the last of them twice if one was lost
steps()
{
	as alice sh -c "cat run-$1/work*" 2>/dev/null | wc -l
}

# works JOB ROUND: it runs for the ROUNDth time again and does new steps
works()
{
	job_is "$1" RUNNING && [ "$(restarts "$1")" = "$2" ] &&
	[ "$(steps "$1")" -gt "$(cat "$notes/steps-$1" 2>/dev/null || echo 0)" ]
}

all_work()
{
	local job

	for job in $jobs_of_alice; do
		wait_until 120 "job $job works, restarts=$1" works "$job" "$1" ||
			{ as root squeue -l; return 1; }
	done
}

# preempt: a job that wants all GPUs comes, and goes
preempt()
{
	local taker

	taker=$(submit --user=bob --partition=serve -N2 --gres=gpu:a100:8 \
		--wrap true) &&
	wait_state "$taker" COMPLETED 150 &&
	for job in $jobs_of_alice; do
		steps "$job" >"$notes/steps-$job"
	done
}

# whole JOB: every step was done, and done once, in each of its shards
whole()
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
	test_expect_success "$version: jobs of seven kinds train" '
		jobs_of_alice= &&
		for kind in $kinds; do
			job=$(submit --partition=scavenge --gres=gpu:a100:1 \
				"like-$kind.sh") || return
			jobs_of_alice="$jobs_of_alice $job"
		done &&
		all_work 0
	'
	for round in $(seq "$rounds"); do
		test_expect_success "$version: all are asked, go, and come back ($round)" '
			preempt && all_work "$round"
		'
	done
	test_expect_success "$version: and end once they have done enough" '
		as alice touch enough &&
		for job in $jobs_of_alice; do
			wait_state "$job" COMPLETED || return
		done
	'
	for kind in $kinds; do
		test_expect_success "$version: like $kind: no step lost, none twice" '
			set -- $jobs_of_alice && jobs_of_alice="${*:2}" &&
			whole "$1" && test "$(restarts "$1")" = "$rounds"
		'
	done
	cluster_down
}

each_version frameworks
cluster_done
