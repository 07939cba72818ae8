#!/bin/bash
# 6030-preempt-withdrawn.t - preemptions withdrawn, and jobs over a limit
# long: 90 s, a cluster for each Slurm
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='preemptions are withdrawn; a job over a limit blocks no other'
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

# victim [OPTION]...: start a job of alice on both GPUs
victim()
{
	local job

	job=$(submit --partition=scavenge --gres=gpu:a100:2 --time=60 "$@" \
		hold.sh) &&
	wait_state "$job" RUNNING >&2 && echo "$job"
}

# requester JOB: submit a job of bob and wait until Slurm preempts JOB for it
requester()
{
	local job

	job=$(submit --user=bob --partition=serve --gres=gpu:a100:2 hold.sh) &&
	wait_until 60 "Slurm preempts job $1" is_being_preempted "$1" >&2 &&
	wait_policyd_log "job $1: asked, job $job of team vision" >&2 &&
	echo "$job"
}

# time_limit JOB: seconds from its start to its end time
time_limit()
{
	echo $(($(date -d "$(job_field "$1" EndTime)" +%s) -
		$(date -d "$(job_field "$1" StartTime)" +%s)))
}

check_withdrawal()
{
	test_expect_success "$version: a preempted job has ten minutes left" '
		one=$(victim) && requester=$(requester "$one") &&
		test "$(time_limit "$one")" -lt 3600
	'
	test_expect_success "$version: a preemption is withdrawn when its requester is cancelled" '
		as root scancel "$requester" &&
		wait_until 60 "the preemption of job $one is withdrawn" \
			is_not_being_preempted "$one" &&
		test "$(time_limit "$one")" = 3600 &&
		wait_policyd_log "job $one: spared"
	'
	test_expect_success "$version: a second preemption is withdrawn when its requester is held" '
		requester=$(requester "$one") &&
		as root scontrol hold "$requester" &&
		wait_until 60 "the preemption of job $one is withdrawn" \
			is_not_being_preempted "$one" &&
		test "$(time_limit "$one")" = 3600
	'
	test_expect_success "$version: a job with two withdrawn preemptions completes without a restart" '
		as alice touch go &&
		wait_state "$one" COMPLETED &&
		test "$(restarts "$one")" = 0 &&
		as alice rm go && cancel_all_jobs
	'
}

times_logged()
{
	policyd_logged | grep -c "$1"
}

# The preemption may be withdrawn in between: Slurm and the daemon learn of the
# cancelled job at the same time.
check_next_requester()
{
	test_expect_success "$version: a preemption continues for the next requester" '
		mark_policyd_log &&
		one=$(victim) && requester=$(requester "$one") &&
		next=$(submit --user=bob --partition=serve --gres=gpu:a100:2 \
			hold.sh) &&
		wait_why bob "$next" "job $one" &&
		as root scancel "$requester" &&
		wait_policyd_log "job $one: asked, job $next of team vision" &&
		test "$(times_logged "job $one: withdraw,")" -le 1 &&
		wait_why alice "$one" "job $next needs its 2 a100"
	'
	test_expect_success "$version: a preemption is withdrawn when the last requester is gone" '
		as root scancel "$next" &&
		wait_until 60 "the preemption of job $one is withdrawn" \
			is_not_being_preempted "$one" &&
		test "$(time_limit "$one")" = 3600 &&
		cancel_all_jobs
	'
}

# The next daemon completes what the killed one has begun.
check_restart()
{
	test_expect_success "$version: a restarted egs-policyd withdraws a preemption without a requester" '
		one=$(victim) && requester=$(requester "$one") &&
		stop_policyd KILL &&
		as root scancel "$requester" &&
		restart_slurmctld &&
		policyd_up &&
		wait_until 60 "the preemption of job $one is withdrawn" \
			is_not_being_preempted "$one" &&
		test "$(time_limit "$one")" = 3600 &&
		test "$(restarts "$one")" = 0 &&
		cancel_all_jobs
	'
}

# running USER PARTITION GPUS: start a job
running()
{
	local job

	job=$(submit "--user=$1" "--partition=$2" "--gres=gpu:a100:$3" hold.sh) &&
	wait_state "$job" RUNNING >&2 && echo "$job"
}

# The daemon has decided about the second job before Slurm tests it.
check_limits()
{
	test_expect_success "$version: a job over the MaxGpus of its team does not start" '
		one=$(running carol gpu 1) &&
		wait_why carol "$one" "running on" &&
		over=$(submit --user=carol --hold --partition=first \
			--gres=gpu:a100:1 hold.sh) &&
		wait_why carol "$over" "waiting for a dependency" &&
		as root scontrol release "$over" &&
		wait_why carol "$over" "MaxGpus= of bounded allows 1"
	'
	test_expect_success "$version: jobs behind a job over a limit start" '
		behind=$(running dave gpu 1) &&
		job_is "$over" PENDING
	'
	test_expect_success "$version: a job over a limit starts when its team is below the limit" '
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

other_site_factor()
{
	[ "$(site_factor "$1")" != "$2" ]
}

check_site_factors()
{
	test_expect_success "$version: a job submitted while egs-policyd was down gets a site factor" '
		full=$(running bob serve 2) &&
		stop_policyd KILL &&
		next=$(submit --user=bob --partition=serve --gres=gpu:a100:2 \
			hold.sh) &&
		policyd_up &&
		wait_until 60 "job $next has a site factor" \
			sprio_shows "$next" "^[1-9]"
	'
	test_expect_success "$version: another tier changes the site factor" '
		rank=$(site_factor "$next") &&
		egsctl update "job=$next" tier=scavenge --reason=test &&
		wait_until 60 "the site factor is not $rank" \
			other_site_factor "$next" "$rank" &&
		cancel_all_jobs
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=1 gpus=2 \
		conf="$notes/slurm.conf" egs-conf="$notes/egs.conf"
	check_withdrawal
	check_next_requester
	check_restart
	check_limits
	check_site_factors
	cluster_down
}

# small USER PARTITION NODE: submit a job for the GPU of NODE
small()
{
	submit "--user=$1" --partition="$2" -w "$3" --gres=gpu:a100:1 hold.sh
}

# Without the doorbell the daemon does not know for which job Slurm chose a
# victim, so both seem preempted for the first job in the queue.  When that job
# has started, one preemption is withdrawn and made again at once.
check_without_doorbell()
{
	cluster_up slurm="$version" nodes=2 gpus=1 egs-conf="$notes/egs.conf"
	test_expect_success "$version: two jobs are preempted while the doorbell is missing" '
		mark_policyd_log &&
		one=$(small alice scavenge n1) &&
		two=$(small alice scavenge n2) &&
		wait_state "$one" RUNNING && wait_state "$two" RUNNING &&
		wait_why alice "$one" "running on .* on loan (" &&
		wait_why alice "$two" "running on .* on loan (" &&
		as root rm /run/egs/doorbell &&
		first=$(small bob serve n1) && second=$(small bob serve n2) &&
		wait_until 60 "Slurm preempts job $one" \
			is_being_preempted "$one" &&
		wait_until 60 "Slurm preempts job $two" \
			is_being_preempted "$two" &&
		wait_policyd_log "job $one: asked, job $first of team vision" &&
		wait_policyd_log "job $two: asked, job $first of team vision"
	'
	test_expect_success "$version: the first requester starts when its victim ends" '
		as root scancel "$one" && wait_state "$first" RUNNING
	'
	test_expect_success "$version: the other preemption continues for the second requester" '
		wait_policyd_log "job $two: asked, job $second of team vision" &&
		test "$(times_logged "job $two: spared,")" = 1 &&
		test "$(times_logged "job $two: withdraw,")" = 1 &&
		wait_why alice "$two" "job $second needs its 1 a100"
	'
	cluster_down
}

each_version run_all
each_version check_without_doorbell
cluster_done
