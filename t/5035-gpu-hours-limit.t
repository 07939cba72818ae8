#!/bin/bash
# 5035-gpu-hours-limit.t - jobs of a team past MaxGpuHours are preempted first
# long: 40 s, a cluster for each Slurm
# shellcheck disable=SC2016,SC2034,SC2119,SC2154 # sharness: bodies, test_description

test_description='jobs of a team past MaxGpuHours are preempted before guests'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,research
PollInterval=1s
GpuType=a100
Tier=research MinRuntime=0s MaxPreemptions=none GraceMin=10m GraceMax=10m
Team=students Users=alice Quota=a100:2 MaxGpuHours=1/month \
	DefaultTier=research
Team=vision Users=bob Quota=a100:2 DefaultTier=research
Team=guests Users=carol Quota=none DefaultTier=research
END

# runs USER: start a job on two GPUs that saves on its signal
runs()
{
	local job

	job=$(submit "--user=$1" --signal=B:USR1@60 --gres=gpu:a100:2 \
		victim.sh exit 0) &&
	wait_state "$job" RUNNING >&2 &&
	wait_until 60 "job $job has begun" has_begun "$1" "$job" >&2 &&
	echo "$job"
}

has_begun()
{
	as "$1" cat "slurm-$2.out" 2>/dev/null | grep -q 'run 0'
}

has_restarted()
{
	[ "$(restarts "$1")" = 1 ]
}

# set_usage HOURS: of the team of alice in this month
set_usage()
{
	stop_policyd TERM &&
	run_sql "UPDATE usage SET gpu_s = $1 * 3600 WHERE team = 'students'" &&
	policyd_up
}

check_limit()
{
	cluster_up slurm="$version" nodes=1 gpus=4 egs-conf="$notes/egs.conf"
	test_expect_success "$version: a job within quota and a guest run" '
		limited=$(runs alice) && guest=$(runs carol) &&
		wait_why alice "$limited" "within quota (students"
	'
	test_expect_success "$version: a job is on loan when its team is past MaxGpuHours" '
		set_usage 2 && wait_why alice "$limited" "on loan; it is over a limit of its team"
	'
	test_expect_success "$version: the job past MaxGpuHours is preempted before the guest" '
		taker=$(submit --user=bob --gres=gpu:a100:2 hold.sh) &&
		wait_state "$taker" RUNNING &&
		wait_until 60 "job $limited is requeued" has_restarted "$limited" &&
		as alice grep -x asked "slurm-$limited.out" &&
		job_is "$guest" RUNNING && test "$(restarts "$guest")" = 0
	'
	test_expect_success "$version: the preempted job restarts once and completes" '
		as bob touch go && wait_state "$taker" COMPLETED &&
		wait_state "$limited" RUNNING && as alice touch go &&
		wait_state "$limited" COMPLETED && has_restarted "$limited" &&
		as carol touch go && wait_state "$guest" COMPLETED
	'
	cluster_down
}

each_version check_limit
cluster_done
