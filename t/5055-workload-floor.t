#!/bin/bash
# 5055-workload-floor.t - jobs that are the floor of a workload are not preempted
# long: 60 s, a cluster and its daemon for each Slurm with plugins
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='no rule of the policy preempts the floor of a workload'
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
Tier=prod MinRuntime=0s GraceMin=5s GraceNoAck=40s
Tier=research MinRuntime=0s GraceMin=5s GraceNoAck=40s
Team=fraud Users=alice Quota=a100:2 DefaultTier=research Tiers=prod,research
Team=vision Users=bob Quota=a100:2 DefaultTier=research Tiers=prod,research
Workload=fraud Team=fraud Phase=infer Floor=a100:2
END

held= # GPUs of the job that is the floor

# serves: submit a job of the workload with two GPUs that can shrink to one
serves()
{
	job_of alice 2 --workload=fraud --phase=infer --egs=shrink-to=1
}

# refused WORD JOB [OPTION]...: egsctl refuses it because of the floor
refused()
{
	! egsctl "$1" "$2" "${@:3}" --reason=no 2>"$notes/why" &&
	grep -q "part of its workload.s Floor" "$notes/why"
}

# egs_as USER JOB WORD...: run egs as USER, as if inside the job
egs_as()
{
	as "$1" env SLURM_JOB_ID="$2" SLURM_RESTART_COUNT=0 \
		/opt/egs/bin/egs "${@:3}"
}

# untouched JOB: it runs in its first run, with its GPUs and without a notice
untouched()
{
	job_is "$1" RUNNING && [ "$(restarts "$1")" = 0 ] &&
	[ "$(gpus "$1")" = "$held" ] && has_no_notice "$1"
}

check_floor()
{
	test_expect_success "$version: the first of two serving jobs is the floor" '
		serve=$(once_running serves) && more=$(once_running serves) &&
		wait_until 60 "job $serve is the floor" \
			refused shrink "$serve" --gpus=1 &&
		held=$(gpus "$serve") && untouched "$serve"
	'
	test_expect_success "$version: egsctl preempt refuses the floor" '
		refused preempt "$serve" && untouched "$serve"
	'
	test_expect_success "$version: a recall shrinks the job on loan, not the floor" '
		own=$(job_of bob 1) &&
		wait_until 60 "job $more has a notice" has_notice "$more" kind=shrink &&
		untouched "$serve" && egs_as alice "$more" yield --gpus=1 &&
		wait_state "$own" RUNNING && untouched "$serve" && invariants_hold
	'
	test_expect_success "$version: a recall preempts the job on loan, not the floor" '
		other=$(job_of bob 1) &&
		wait_until 60 "job $more has a notice" has_notice "$more" kind=yield &&
		untouched "$serve" && egs_as alice "$more" yield &&
		wait_state "$other" RUNNING && untouched "$serve" &&
		as root scancel "$more" "$own" "$other" &&
		wait_until 60 "the jobs end" has_ended "$other" && invariants_hold
	'
	test_expect_success "$version: a stronger tier preempts jobs of its own team, not the floor" '
		own=$(once_running job_of bob 2) && prod=$(job_of bob 2 --tier=prod) &&
		wait_until 60 "job $own has a notice" has_notice "$own" kind=yield &&
		untouched "$serve" && egs_as bob "$own" yield &&
		wait_state "$prod" RUNNING && untouched "$serve" &&
		as root scancel "$own" "$prod" &&
		wait_until 60 "the jobs end" has_ended "$prod" && invariants_hold
	'
}

# The floor is counted against the quota first, whatever else the team runs.
check_own_team()
{
	test_expect_success "$version: a stronger tier of the floor's team does not preempt the floor" '
		own=$(once_running job_of bob 2) && prod=$(job_of alice 2 --tier=prod) &&
		expect_pending_after_scheduling "$prod" &&
		expect_pending_after_scheduling "$prod" &&
		untouched "$serve" && test "$(restarts "$own")" = 0 &&
		test_must_fail has_notice "$own" kind=yield
	'
	test_expect_success "$version: a job beside the floor runs on loan and is recalled first" '
		as root scancel "$own" && wait_state "$prod" RUNNING &&
		untouched "$serve" && own=$(job_of bob 2) &&
		wait_until 60 "job $prod has a notice" has_notice "$prod" kind=yield &&
		untouched "$serve" && egs_as alice "$prod" yield &&
		wait_state "$own" RUNNING && untouched "$serve" && invariants_hold
	'
	test_expect_success "$version: a restarted egs-policyd protects the floor" '
		stop_policyd KILL && policyd_up && wait_policyd slurmctld up &&
		wait_until 60 "job $serve is the floor" refused preempt "$serve" &&
		expect_pending_after_scheduling "$prod" && untouched "$serve" &&
		as root scancel "$own" "$prod" "$serve" && wait_queue_empty
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=1 gpus=4 egs-conf="$notes/egs.conf"
	test_expect_success "$version: egs-policyd and egs-noded are up" '
		wait_policyd slurmctld up && noded_up n1
	'
	check_floor
	check_own_team
	cluster_down
}

each_version run_all
test_done
