#!/bin/bash
# 6030-preempt-withdrawn.t - who need not go any more, and who does not stand in the way
# long: 90 s, a cluster for each Slurm
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='a preemption is taken back; a limit blocks nobody else'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

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
Team=bounded Users=carol MaxGpus=a100:1 LimitAction=hold DefaultTier=scavenge
END

# Slurm tests jobs of first before any other.
cat >"$notes/slurm.conf" <<'END'
PartitionName=first Nodes=ALL MaxTime=INFINITE PriorityTier=10
END

# victim [OPTION]...: a job of alice's that runs on both GPUs
victim()
{
	local job

	job=$(submit --partition=scavenge --gres=gpu:a100:2 --time=60 "$@" \
		hold.sh) &&
	wait_state "$job" RUNNING >&2 && echo "$job"
}

# taker: a job of bob's for which that job is asked to go
taker()
{
	local job

	job=$(submit --user=bob --partition=serve --gres=gpu:a100:2 hold.sh) &&
	wait_until 60 "job $1 was asked" asked "$1" >&2 &&
	wait_policyd_log "job $1: asked, job $job of team vision" >&2 && echo "$job"
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
		wait_until 60 "job $one is spared" is_not_being_preempted "$one" &&
		test "$(seconds_given "$one")" = 3600 &&
		wait_policyd_log "job $one: spared"
	'
	test_expect_success "$version: it may be asked again, and spared again" '
		took=$(taker "$one") &&
		as root scontrol hold "$took" &&
		wait_until 60 "job $one is spared" is_not_being_preempted "$one" &&
		test "$(seconds_given "$one")" = 3600
	'
	test_expect_success "$version: it runs to its end, once" '
		as alice touch go &&
		wait_state "$one" COMPLETED &&
		test "$(restarts "$one")" = 0 &&
		as alice rm go && cancel_all_jobs
	'
}

times_said()
{
	policyd_logged | grep -c "$1"
}

# It may be spared first: Slurm and the daemon learn of the end at once.
next_in_line()
{
	test_expect_success "$version: two jobs want its GPUs, one is cancelled" '
		mark_policyd_log &&
		one=$(victim) && took=$(taker "$one") &&
		next=$(submit --user=bob --partition=serve --gres=gpu:a100:2 \
			hold.sh) &&
		wait_why bob "$next" "job $one" &&
		as root scancel "$took"
	'
	test_expect_success "$version: it goes for the other one" '
		wait_policyd_log "job $one: asked, job $next of team vision" &&
		test "$(times_said "job $one: withdraw,")" -le 1 &&
		wait_why alice "$one" "job $next needs its 2 a100"
	'
	test_expect_success "$version: and is spared when that is gone, too" '
		as root scancel "$next" &&
		wait_until 60 "job $one is spared" is_not_being_preempted "$one" &&
		test "$(seconds_given "$one")" = 3600 &&
		cancel_all_jobs
	'
}

# What the daemon has begun the next one ends.
over_a_kill()
{
	test_expect_success "$version: the daemon is away as that happens" '
		one=$(victim) && took=$(taker "$one") &&
		stop_policyd KILL &&
		as root scancel "$took" &&
		restart_slurmctld &&
		policyd_up &&
		wait_until 60 "job $one is spared" is_not_being_preempted "$one" &&
		test "$(seconds_given "$one")" = 3600 &&
		test "$(restarts "$one")" = 0 &&
		cancel_all_jobs
	'
}

# running USER PARTITION GPUS: a job that runs
running()
{
	local job

	job=$(submit "--user=$1" "--partition=$2" "--gres=gpu:a100:$3" hold.sh) &&
	wait_state "$job" RUNNING >&2 && echo "$job"
}

# The daemon has decided about the second job before Slurm looks at it.
limits()
{
	test_expect_success "$version: a job beyond a limit does not start" '
		one=$(running carol gpu 1) &&
		wait_why carol "$one" "on loan" &&
		over=$(submit --user=carol --hold --partition=first \
			--gres=gpu:a100:1 hold.sh) &&
		wait_why carol "$over" "waiting for a dependency" &&
		as root scontrol release "$over" &&
		wait_why carol "$over" "MaxGpus= of bounded allows 1"
	'
	test_expect_success "$version: the queue behind it goes on" '
		behind=$(running dave gpu 1) &&
		job_is "$over" PENDING
	'
	test_expect_success "$version: it starts when the limit lets it" '
		cancel_jobs_of dave &&
		as root scancel "$one" &&
		wait_state "$over" RUNNING &&
		cancel_all_jobs
	'
}

site_factor()
{
	as root sprio -h -j "$1" -o %S | tr -d " "
}

# sprio_shows JOB REGEX
sprio_shows()
{
	site_factor "$1" | grep -qE "$2"
}

other_rank()
{
	[ "$(site_factor "$1")" != "$2" ]
}

ranks()
{
	test_expect_success "$version: who came while the daemon was away has a rank" '
		full=$(running bob serve 2) &&
		stop_policyd KILL &&
		next=$(submit --user=bob --partition=serve --gres=gpu:a100:2 \
			hold.sh) &&
		policyd_up &&
		wait_until 60 "job $next has a rank" sprio_shows "$next" "^[1-9]"
	'
	test_expect_success "$version: another tier is another rank" '
		rank=$(site_factor "$next") &&
		egsctl update "job=$next" tier=scavenge --reason=test &&
		wait_until 60 "not $rank any more" other_rank "$next" "$rank" &&
		cancel_all_jobs
	'
}

stories()
{
	cluster_up slurm="$version" nodes=1 gpus=2 \
		conf="$notes/slurm.conf" egs-conf="$notes/egs.conf"
	sparing
	next_in_line
	over_a_kill
	limits
	ranks
	cluster_down
}

# small USER PARTITION NODE: a job that wants the GPU there
small()
{
	submit "--user=$1" --partition="$2" -w "$3" --gres=gpu:a100:1 hold.sh
}

# Nobody hears for whom Slurm chose: both look as if they had to go for the
# first in the queue, and when that has started one is spared and chosen again
# in the same breath.
without_bell()
{
	cluster_up slurm="$version" nodes=2 gpus=1 egs-conf="$notes/egs.conf"
	test_expect_success "$version: two jobs are asked, without a doorbell" '
		mark_policyd_log &&
		one=$(small alice scavenge n1) && two=$(small alice scavenge n2) &&
		wait_state "$one" RUNNING && wait_state "$two" RUNNING &&
		wait_why alice "$one" "on loan" &&
		wait_why alice "$two" "on loan" &&
		as root rm /run/egs/doorbell &&
		first=$(small bob serve n1) && second=$(small bob serve n2) &&
		wait_until 60 "job $one was asked" asked "$one" &&
		wait_until 60 "job $two was asked" asked "$two" &&
		wait_policyd_log "job $one: asked, job $first of team vision" &&
		wait_policyd_log "job $two: asked, job $first of team vision"
	'
	test_expect_success "$version: one goes, and its taker starts" '
		as root scancel "$one" && wait_state "$first" RUNNING
	'
	test_expect_success "$version: the other is asked for who still waits" '
		wait_policyd_log "job $two: asked, job $second of team vision" &&
		test "$(times_said "job $two: spared,")" = 1 &&
		test "$(times_said "job $two: withdraw,")" = 1 &&
		wait_why alice "$two" "job $second needs its 1 a100"
	'
	cluster_down
}

each_version stories
each_version without_bell
cluster_done
