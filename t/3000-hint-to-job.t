#!/bin/bash
# 3000-hint-to-job.t - a phase hint from the command line to slurmctld and the job
# long: 60 s, three clusters one after the other
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='the phase of a job reaches slurmctld and the job'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"

token='egs:1;phase=%s;id=[0-9a-f]\{16\}'

# stamped JOB PHASE: every record of JOB has just the token in AdminComment.
stamped()
{
	local comments

	comments=$(job_field "$1" AdminComment) || return
	# shellcheck disable=SC2059 # a format of ours
	printf '%s\n' "$comments" | grep -c "^$(printf "$token" "$2")\$" |
		grep -qx "$(printf '%s\n' "$comments" | wc -l)" || {
		echo "job $1: AdminComment is '$comments'"
		return 1
	}
}

# unstamped JOB: no record of JOB has an AdminComment.
unstamped()
{
	[ -z "$(job_field "$1" AdminComment | tr -d '\n')" ]
}

# known_jobs: how many jobs slurmctld has.
known_jobs()
{
	as root scontrol show job -o | grep -c ^JobId=
}

# refused CMD...: CMD fails, with the sentence on its stderr and no new job.
refused()
{
	local before

	before=$(known_jobs)
	test_must_fail "$@" 2>err
	cat err
	grep -F -e "--phase=trian is not a phase; did you mean 'train'?" err &&
		grep -F 'phases: prep, train, eval, infer, retrain' err &&
		[ "$(known_jobs)" = "$before" ]
}

# What a job sees, with every Slurm.
check_hinted_jobs()
{
	test_expect_success "$version: a job with --phase=train sees EGS_PHASE and its two GPUs" '
		job=$(submit --phase=train --gres=gpu:2 say.sh) &&
		wait_state $job COMPLETED &&
		output $job >out &&
		cat >want <<-\END &&
		batch: phase=train gpus=0,1
		step: phase=train gpus=0,1
		END
		test_cmp want out
	'
	test_expect_success "$version: --phase=training means phase train" '
		job=$(submit --phase=training say.sh) &&
		wait_state $job COMPLETED &&
		output $job | grep "batch: phase=train "
	'
	test_expect_success "$version: #SBATCH --phase sets the phase" '
		job=$(submit infer.sh) &&
		wait_state $job COMPLETED &&
		output $job | grep -x phase=infer
	'
	test_expect_success "$version: srun and salloc accept --phase" '
		as alice srun --phase=eval printenv EGS_PHASE >out &&
		grep -x eval out &&
		as alice salloc --phase=prep srun printenv EGS_PHASE >out &&
		grep -x prep out
	'
	test_expect_success "$version: a misspelt phase is refused by sbatch, srun and salloc" '
		refused as alice sbatch --phase=trian --wrap hostname &&
		refused as alice srun --phase=trian hostname &&
		refused as alice salloc --phase=trian hostname
	'
}

# Jobs without a hint stay without one.
check_unhinted_jobs()
{
	test_expect_success "$version: a job submitted inside a job inherits no phase" '
		job=$(submit --phase=train nested.sh) &&
		wait_state $job COMPLETED &&
		nested=$(output $job) &&
		wait_state $nested COMPLETED &&
		output $nested | grep "batch: phase=none" &&
		output $nested | grep "step: phase=none" &&
		unstamped $nested
	'
	test_expect_success "$version: variables of the shell set no phase" '
		option=_SLURM_SPANK_OPTION_egs_phase &&
		job=$(as alice env EGS_PHASE=train \
			$option=trian SLURM_SPANK_$option=trian \
			sbatch --parsable "$jobs/say.sh") &&
		wait_state $job COMPLETED &&
		output $job | grep "batch: phase=none" &&
		output $job | grep "step: phase=none" &&
		unstamped $job
	'
}

# The stamp in AdminComment, where job_submit/egs could be built.
check_stamps()
{
	test_expect_success "$version: scontrol show job shows the phase" '
		held=$(submit -H --phase=training hold.sh) &&
		as alice scontrol show job $held | grep "AdminComment=egs:1" &&
		stamped $held train
	'
	test_expect_success "$version: each job has a different stamp" '
		other=$(submit -H --phase=train hold.sh) &&
		stamped $other train &&
		! test "$(job_field $held AdminComment)" = \
			"$(job_field $other AdminComment)"
	'
	test_expect_success "$version: tasks of an array have the stamp of the array" '
		array=$(submit --array=1-3 --phase=eval --gres=gpu:1 hold.sh) &&
		wait_state $array RUNNING &&
		test "$(job_field $array JobState | wc -l)" -eq 3 &&
		stamped $array eval
	'
	test_expect_success "$version: components of a het job have their own stamps" '
		het=$(submit -H --phase=prep : --phase=train --gres=gpu:1 hold.sh) &&
		stamped $het+0 prep &&
		stamped $het+1 train
	'
	test_expect_success "$version: users cannot change the stamp" '
		allow_error "^error: Attempt to change admin_comment" &&
		test_must_fail as alice \
			scontrol update job=$held admincomment=mine &&
		test_must_fail as alice sbatch --wrap hostname \
			--admin-comment=mine &&
		stamped $held train
	'
	test_expect_success "$version: an AdminComment of an operator keeps the stamp" '
		stamp=$(job_field $held AdminComment) &&
		as root scontrol update job=$held admincomment="look here" &&
		job_field $held AdminComment >out &&
		grep -F "look here" out &&
		test -n "$stamp" && grep -F "$stamp" out
	'
	test_expect_success "$version: the stamp survives a requeue" '
		stamp=$(job_field ${array}_2 AdminComment) &&
		test -n "$stamp" &&
		as alice scontrol requeue ${array}_2 &&
		wait_state ${array}_2 PENDING &&
		test "$(job_field ${array}_2 AdminComment)" = "$stamp"
	'
	test_expect_success "$version: stamps survive a restart of slurmctld" '
		as root scontrol show job >before &&
		restart_slurmctld &&
		as root scontrol show job >after &&
		grep -E "^JobId|AdminComment" before >want &&
		grep -E "^JobId|AdminComment" after >got &&
		grep "egs:1;phase=eval" want &&
		test_cmp want got
	'
	test_expect_success "$version: all jobs end after scancel" '
		as alice scancel -u alice &&
		wait_queue_empty
	'
}

# A client other than sbatch can send any text.
check_other_clients()
{
	test_expect_success "$version: slurmctld refuses a misspelt phase of a client without SPANK" '
		cc -o "$EGS_SANDBOX_DIR/$cluster/home/alice/client" \
			"$srcdir/t/lib/fake/raw-submit.c" -lslurm &&
		refused as alice ./client _SLURM_SPANK_OPTION_egs_phase=trian
	'
	test_expect_success "$version: slurmctld stamps a job of a client without SPANK" '
		job=$(as alice ./client _SLURM_SPANK_OPTION_egs_phase=eval) &&
		stamped $job eval &&
		wait_state $job COMPLETED
	'
}

for version in $EGS_TEST_VERSIONS; do
	cluster_up slurm="$version" nodes=1 gpus=4
	check_hinted_jobs
	check_unhinted_jobs
	! has_plugins "$version" || check_stamps
	[ "$version" != 22.05 ] || check_other_clients
	cluster_down
done
cluster_done
