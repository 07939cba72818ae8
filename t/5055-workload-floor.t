#!/bin/bash
# 5055-workload-floor.t - what holds up the floor of a workload is taken by nobody
# long: 60 s, a cluster and its daemon for each Slurm with plugins
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='no rule of the policy takes the floor of a workload'
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

# wants USER GPUS [OPTION]...: a job that would save if it were asked
wants()
{
	submit "--user=$1" "--gres=gpu:a100:$2" "--cpus-per-task=$2" --mem=100 \
		--ckpt=file "${@:3}" hold.sh
}

# serves: a job of the workload with two GPUs, which could do with one
serves()
{
	wants alice 2 --workload=fraud --phase=infer --egs=shrink-to=1
}

# refused WORD JOB [OPTION]...: egsctl will not, for the floor
refused()
{
	! egsctl "$1" "$2" "${@:3}" --reason=no 2>"$notes/why" &&
	grep -q "part of its workload.s Floor" "$notes/why"
}

# says USER JOB WORDS...: egs, as the user would say it in the job
says()
{
	as "$1" env SLURM_JOB_ID="$2" SLURM_RESTART_COUNT=0 \
		/opt/egs/bin/egs "${@:3}"
}

# untouched JOB: it runs on, with what it had, and nobody has asked it
untouched()
{
	job_is "$1" RUNNING && [ "$(restarts "$1")" = 0 ] &&
	[ "$(gpus "$1")" = "$held" ] && has_no_notice "$1"
}

floor()
{
	test_expect_success "$version: two jobs serve, the first of them is the floor" '
		serve=$(once_running serves) && more=$(once_running serves) &&
		wait_until 60 "it is the floor" \
			refused shrink "$serve" --gpus=1 &&
		held=$(gpus "$serve") && untouched "$serve"
	'
	test_expect_success "$version: no operator has it go" '
		refused preempt "$serve" && untouched "$serve"
	'
	test_expect_success "$version: GPUs are asked back from the one on loan" '
		own=$(wants bob 1) &&
		wait_until 60 "it is told" has_notice "$more" kind=shrink &&
		untouched "$serve" && says alice "$more" yield --gpus=1 &&
		wait_state "$own" RUNNING && untouched "$serve" && invariants_hold
	'
	test_expect_success "$version: the rest of the loan is recalled, the floor is not" '
		other=$(wants bob 1) &&
		wait_until 60 "it is told" has_notice "$more" kind=yield &&
		untouched "$serve" && says alice "$more" yield &&
		wait_state "$other" RUNNING && untouched "$serve" &&
		as root scancel "$more" "$own" "$other" &&
		wait_until 60 "they end" has_ended "$other" && invariants_hold
	'
	test_expect_success "$version: a stronger tier takes from others of its team" '
		own=$(once_running wants bob 2) && prod=$(wants bob 2 --tier=prod) &&
		wait_until 60 "it is told" has_notice "$own" kind=yield &&
		untouched "$serve" && says bob "$own" yield &&
		wait_state "$prod" RUNNING && untouched "$serve" &&
		as root scancel "$own" "$prod" &&
		wait_until 60 "they end" has_ended "$prod" && invariants_hold
	'
}

# The floor comes off the quota first, whatever the team runs beside it.
own_team()
{
	test_expect_success "$version: nor does a stronger tier of its own team" '
		own=$(once_running wants bob 2) && prod=$(wants alice 2 --tier=prod) &&
		expect_pending_after_scheduling "$prod" &&
		expect_pending_after_scheduling "$prod" &&
		untouched "$serve" && test "$(restarts "$own")" = 0 &&
		test_must_fail has_notice "$own" kind=yield
	'
	test_expect_success "$version: which gets what is lent, and gives it back first" '
		as root scancel "$own" && wait_state "$prod" RUNNING &&
		untouched "$serve" && own=$(wants bob 2) &&
		wait_until 60 "it is told" has_notice "$prod" kind=yield &&
		untouched "$serve" && says alice "$prod" yield &&
		wait_state "$own" RUNNING && untouched "$serve" && invariants_hold
	'
	test_expect_success "$version: a daemon that died knows it, too" '
		stop_policyd KILL && policyd_up && wait_policyd slurmctld up &&
		wait_until 60 "it is the floor" refused preempt "$serve" &&
		expect_pending_after_scheduling "$prod" && untouched "$serve" &&
		as root scancel "$own" "$prod" "$serve" && wait_queue_empty
	'
}

keeps_floor()
{
	cluster_up slurm="$version" nodes=1 gpus=4 egs-conf="$notes/egs.conf"
	test_expect_success "$version: egs-noded is there" '
		wait_policyd slurmctld up && noded_up n1
	'
	floor
	own_team
	cluster_down
}

each_version keeps_floor
test_done
