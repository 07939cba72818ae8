#!/bin/bash
# 5530-spare.t - a job that was asked to go need not go any more
# long: 60 s, a cluster for each Slurm
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='a preemption is taken back when nobody needs it any more'
. "${srcdir:-$(dirname "$0")/..}/t/lib/cluster.sh"
. "$srcdir/t/lib/policyd.sh"
. "$srcdir/t/lib/yield.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,scavenge
PollInterval=1s
GpuType=a100
Tier=prod Partitions=serve MinRuntime=0s
Tier=scavenge Partitions=scavenge Loan=always MinRuntime=0s \
	GraceMin=10m GraceMax=10m GraceNoAck=10m
Team=fraud Users=alice Quota=a100:2 DefaultTier=scavenge
Team=vision Users=bob Quota=a100:2 DefaultTier=prod
END

# victim [OPTION]...: a job of alice's that runs on both GPUs
victim()
{
	local job

	job=$(submit --partition=scavenge --gres=gpu:a100:2 --time=60 "$@" \
		hold.sh) &&
	wait_state "$job" RUNNING >&2 && echo "$job"
}

asked()
{
	[ "$(job_field "$1" PreemptTime)" != None ]
}

spared()
{
	[ "$(job_field "$1" PreemptTime)" = None ]
}

# taker: a job of bob's for which that job is asked to go
taker()
{
	local job

	job=$(submit --user=bob --partition=serve --gres=gpu:a100:2 hold.sh) &&
	wait_until 60 "job $1 was asked" asked "$1" >&2 &&
	wait_said "job $1: asked, job $job of team vision" >&2 && echo "$job"
}

# seconds_given JOB: from its start to the end of its time
seconds_given()
{
	echo $(($(date -d "$(job_field "$1" EndTime)" +%s) -
		$(date -d "$(job_field "$1" StartTime)" +%s)))
}

sparing()
{
	test_expect_success "$version: a job is asked to go, with ten minutes" '
		one=$(victim) && took=$(taker "$one") &&
		test "$(seconds_given "$one")" -lt 3600
	'
	test_expect_success "$version: the one that needs it is cancelled" '
		as root scancel "$took" &&
		wait_until 60 "job $one is spared" spared "$one" &&
		test "$(seconds_given "$one")" = 3600 &&
		wait_said "job $one: spared"
	'
	test_expect_success "$version: it may be asked again, and spared again" '
		took=$(taker "$one") &&
		as root scontrol hold "$took" &&
		wait_until 60 "job $one is spared" spared "$one" &&
		test "$(seconds_given "$one")" = 3600
	'
	test_expect_success "$version: it runs to its end, once" '
		as alice touch go &&
		wait_state "$one" COMPLETED &&
		test "$(restarts "$one")" = 0 &&
		as alice rm go && clear_queue
	'
}

# What the daemon has begun the next one ends.
over_a_kill()
{
	test_expect_success "$version: the daemon is away as that happens" '
		one=$(victim) && took=$(taker "$one") &&
		end_policyd KILL &&
		as root scancel "$took" &&
		restart_slurmctld &&
		policyd_up &&
		wait_until 60 "job $one is spared" spared "$one" &&
		test "$(seconds_given "$one")" = 3600 &&
		test "$(restarts "$one")" = 0 &&
		clear_queue
	'
}

stories()
{
	cluster_up slurm="$version" nodes=1 gpus=2 egs-conf="$notes/egs.conf"
	sparing
	over_a_kill
	cluster_down
}

each_version stories
cluster_done
