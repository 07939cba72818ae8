#!/bin/bash
# 7025-resize-limits.t - a job does not grow beyond the limits of its association
# long: 50 s, a cluster with slurmdbd and its daemon for each Slurm with plugins
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='association limits hold for jobs that grow'
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

# limit GPUS: set the GPU limit for each job of alice
limit()
{
	as root sacctmgr -i modify user alice set "MaxTRESPerJob=gres/gpu=$1"
}

# grow JOB GPUS [OPTION]...: run egs phase as if inside the job
grow()
{
	egs_in_job "$1" phase retrain "--gpus=$2" "${@:3}" >"$notes/exports" \
		2>"$notes/why"
}

# waits_for JOB REASON: the helper job of JOB is pending with REASON
waits_for()
{
	as root squeue -h -t PD -n "egs-grow:$1" -o %r | grep -qx "$2"
}

no_helper()
{
	! as root squeue -h -n "egs-grow:$1" -o %i | grep -q .
}

check_limits()
{
	test_expect_success "$version: a job grows within MaxTRESPerJob" '
		limit 3 &&
		job=$(once_running submit --gres=gpu:a100:1 --mem=100 \
			--phase=train hold.sh) &&
		grow "$job" 2 && test "$(gpus "$job")" = 0-1 && invariants_hold
	'
	test_expect_success "$version: the GPUs of the job count against MaxTRESPerJob" '
		test_must_fail grow "$job" 4 --timeout=60s &&
		grep "MaxTRESPerJob" "$notes/why" &&
		test "$(gpus "$job")" = 0-1 && job_is "$job" RUNNING &&
		wait_until 60 "the helper is gone" \
			no_helper "$job" && invariants_hold
	'
	test_expect_success "$version: a job with the name of a helper job keeps its GPU" '
		other=$(once_running submit --gres=gpu:a100:1 --mem=100 \
			-J "egs-grow:$job" hold.sh) &&
		held=$(gpus "$other") && grow "$job" 3 &&
		job_is "$other" RUNNING && test "$(gpus "$other")" = "$held" &&
		invariants_hold && grow "$job" 2 && as root scancel "$other" &&
		wait_until 60 "job $other ends" has_ended "$other"
	'
	test_expect_success "$version: GPUs of a helper job in another partition are not taken" '
		limit 1 && before=$(gpus "$job") &&
		{ grow "$job" 4 --timeout=1h & } && grower=$! &&
		wait_until 60 "the helper job waits" \
			waits_for "$job" AssocMaxGRESPerJob &&
		helper=$(as root squeue -h -n "egs-grow:$job" -o %A) &&
		as alice scontrol update JobId="$helper" Partition=serve &&
		limit 4 && test_must_fail wait "$grower" &&
		grep "another partition" "$notes/why" &&
		test "$(gpus "$job")" = "$before" &&
		as root scancel "$helper" &&
		wait_until 60 "the helper is gone" no_helper "$job" &&
		invariants_hold
	'
	test_expect_success "$version: egs phase names the limit that the helper job waits for" '
		limit 1 &&
		{ grow "$job" 4 --timeout=1h & } && grower=$! &&
		wait_until 60 "the helper job waits" \
			waits_for "$job" AssocMaxGRESPerJob &&
		wait_until 60 "egs phase names the limit" grep -q \
			"Slurm has a limit: AssocMaxGRESPerJob" "$notes/why" &&
		limit 4 && wait "$grower" && test "$(gpus "$job")" = 0-3 &&
		wait_until 60 "the helper is gone" \
			no_helper "$job" && invariants_hold
	'
	test_expect_success "$version: the queue is empty after scancel" '
		as root scancel "$job" && wait_queue_empty
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=1 gpus=4 dbd conf="$notes/slurm.conf" \
		egs-conf="$notes/egs.conf"
	test_expect_success "$version: egs-policyd and egs-noded are up" '
		wait_policyd slurmctld up && noded_up n1
	'
	check_limits
	cluster_down
}

each_version run_all
test_done
