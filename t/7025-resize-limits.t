#!/bin/bash
# 7025-resize-limits.t - a job does not grow beyond what Slurm allows its owner
# long: 50 s, a cluster with slurmdbd and its daemon for each Slurm with plugins
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='limits of associations hold for jobs that grow'
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
Team=fraud Users=alice Quota=a100:4 DefaultTier=research
END
echo AccountingStorageEnforce=limits >"$notes/slurm.conf"

# limit GPUS: so many may a job of alice have
limit()
{
	as root sacctmgr -i modify user alice set "MaxTRESPerJob=gres/gpu=$1"
}

# grow JOB GPUS [OPTION]...: as it would be said in the job
grow()
{
	egs_in_job "$1" phase retrain "--gpus=$2" "${@:3}" >"$notes/exports" \
		2>"$notes/why"
}

# waits_for JOB REASON: a helper of the job is in the queue for it
waits_for()
{
	as root squeue -h -t PD -n "egs-grow:$1" -o %r | grep -qx "$2"
}

no_helper()
{
	! as root squeue -h -n "egs-grow:$1" -o %i | grep -q .
}

limits()
{
	test_expect_success "$version: inside the limit a job grows" '
		limit 3 && job=$(once_running submit --gres=gpu:a100:1 --mem=100 \
			--phase=train hold.sh) &&
		grow "$job" 2 && test "$(gpus "$job")" = 0-1 && invariants_hold
	'
	test_expect_success "$version: what it has counts, not only what it asks for" '
		test_must_fail grow "$job" 4 --timeout=60s &&
		grep "MaxTRESPerJob" "$notes/why" &&
		test "$(gpus "$job")" = 0-1 && job_is "$job" RUNNING &&
		wait_until 60 "the helper is gone" no_helper "$job" && invariants_hold
	'
	test_expect_success "$version: a limit that its helper waits for is told" '
		limit 1 &&
		{ grow "$job" 4 --timeout=1h & } && grower=$! &&
		wait_until 60 "it waits" waits_for "$job" AssocMaxGRESPerJob &&
		wait_until 60 "that is told" grep -q \
			"Slurm has a limit: AssocMaxGRESPerJob" "$notes/why" &&
		limit 4 && wait "$grower" && test "$(gpus "$job")" = 0-3 &&
		wait_until 60 "the helper is gone" no_helper "$job" && invariants_hold
	'
	test_expect_success "$version: without a limit all ends well" '
		as root scancel "$job" && wait_queue_empty
	'
}

grows()
{
	cluster_up slurm="$version" nodes=1 gpus=4 dbd conf="$notes/slurm.conf" \
		egs-conf="$notes/egs.conf"
	test_expect_success "$version: egs-noded is there" '
		wait_policyd slurmctld up && noded_up n1
	'
	limits
	cluster_down
}

each_version grows
test_done
