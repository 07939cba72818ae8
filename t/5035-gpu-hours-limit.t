#!/bin/bash
# 5035-gpu-hours-limit.t - a team has used its GPU-hours: its jobs go first, and come back
# long: 40 s, a cluster for each Slurm
# shellcheck disable=SC2016,SC2034,SC2119,SC2154 # sharness: bodies, test_description

test_description='past MaxGpuHours a job is asked first, saves and is requeued'
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

# runs USER: a job on two GPUs, which saves when it is asked to
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

# used HOURS: so much the team of alice has used this month
used()
{
	stop_policyd TERM &&
	run_sql "UPDATE usage SET gpu_s = $1 * 3600 WHERE team = 'students'" &&
	policyd_up
}

hours()
{
	cluster_up slurm="$version" nodes=1 gpus=4 egs-conf="$notes/egs.conf"
	test_expect_success "$version: a job in its quota, and a guest" '
		own=$(runs alice) && guest=$(runs carol) &&
		wait_why alice "$own" "within quota (students"
	'
	test_expect_success "$version: the hours of its team are used up" '
		used 2 && wait_why alice "$own" "on loan; it is over a limit of its team"
	'
	test_expect_success "$version: now it goes before the guest does" '
		taker=$(submit --user=bob --gres=gpu:a100:2 hold.sh) &&
		wait_state "$taker" RUNNING &&
		wait_until 60 "it is requeued" has_restarted "$own" &&
		as alice grep -x asked "slurm-$own.out" &&
		job_is "$guest" RUNNING && test "$(restarts "$guest")" = 0
	'
	test_expect_success "$version: it comes back and ends once" '
		as bob touch go && wait_state "$taker" COMPLETED &&
		wait_state "$own" RUNNING && as alice touch go &&
		wait_state "$own" COMPLETED && has_restarted "$own" &&
		as carol touch go && wait_state "$guest" COMPLETED
	'
	cluster_down
}

each_version hours
cluster_done
