#!/bin/bash
# 3110-scripts.t - scripts as users write them, with stand-ins for their programs
# long: 70 s, a cluster of ten nodes for each Slurm
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='unmodified scripts: serving, pipeline, Lightning, phases, scavenger, submitit'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/hints.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
Partitions=gpu,serve,scavenge       # where EGS may act
TierOrder=prod,research,scavenge    # strongest first
GpuType=h100 Rating=2.3 Price=2.10  # price per GPU-hour; rating 1.0 = a100
GpuType=a100 Rating=1.0 Price=0.90
Tier=prod     AllowAccounts=fraud-prod MinRuntime=1h NoRequeue=spare
Tier=research MinRuntime=15m MaxPreemptions=3/day GraceMax=10m
Tier=scavenge Loan=always MinRuntime=0s MaxPreemptions=none GraceMax=2m \
              NoRequeue=cancel Qos=low Partitions=scavenge
Team=fraud    Accounts=fraud,fraud-prod Quota=h100:32 \
              Tiers=prod,research DefaultTier=research
Team=vision   Accounts=vision* Quota=h100:32,a100:8 \
              Tiers=research,scavenge DefaultTier=research
Team=students Accounts=teaching Quota=none Tiers=scavenge \
              DefaultTier=scavenge MaxGpus=a100:256 MaxGpuHours=3000/week
Phase=prep    Gpus=0 OutOfRange=adjust
Phase=infer   Partitions=serve
Workload=fraud Team=fraud Phase=infer   Gpus=4    Floor=h100:24
Workload=fraud Team=fraud Phase=retrain Gpus=8-64 DependentsFirst=preempt
END

# in_week USER CMD...: run CMD in the directory of the scripts.
in_week()
{
	as "$1" sh -c 'cd week && PATH=$HOME/week:$PATH && "$@"' sh "${@:2}"
}

# copy_scripts USER: and link stand-ins for the programs that they start.
copy_scripts()
{
	as "$1" sh -c 'cp -r /srv/egs/t/jobs/week . && cd week &&
		ln -s work python && ln -s work train.py && ln -s work serve.py'
}

# expect_output JOB LINE...: the job completes and has printed these lines.
expect_output()
{
	wait_state "$1" COMPLETED 180 || return
	printf '%s\n' "${@:2}" >wanted
	output "$1" >found && test_cmp wanted found
}

# submit_all: every script, unmodified.
submit_all()
{
	in_week alice sbatch --parsable serve.sbatch >serve 2>err &&
	in_week alice ./pipeline >pipeline 2>pipeline.err &&
	in_week bob sbatch --parsable lightning.sbatch >lightning &&
	in_week bob sbatch --parsable phases.sbatch >phases &&
	in_week dave sbatch --parsable scavenge.sbatch >scavenge &&
	in_week bob sbatch --parsable -A vision submitit.sh >submitit &&
	cat err pipeline.err &&
	read -r prep retrain eval <pipeline
}

run_scripts()
{
	test_expect_success "$version: sbatch accepts all scripts" '
		copy_scripts alice && copy_scripts bob && copy_scripts dave &&
		submit_all
	'
	test_expect_success "$version: each task of the serving array prints tier prod and has its stamp" '
		for task in 0 1 2 3 4 5; do
			expect_output $(cat serve)_$task \
				"serve.py --model current: none prod" || return 1
		done &&
		stamp_is $(cat serve)_0 tier=prod,workload=fraud/serve,ckpt=none
	'
	test_expect_success "$version: the jobs of the pipeline have their phases, tiers and stamps" '
		expect_output $prep "prep fraud/prep" &&
		expect_output $retrain "retrain prod fraud/retrain 2 nodes" &&
		expect_output $eval "eval prod fraud/eval" &&
		stamp_is $prep phase=prep,workload=fraud/prep &&
		stamp_is $retrain phase=retrain,tier=prod,workload=fraud/retrain,ckpt=file,save-time=90s,preload=./stage.sh &&
		stamp_is $eval phase=eval,tier=prod,workload=fraud/eval &&
		test "$(grep -c "egs: reserved for a later version" pipeline.err)" -eq 1
	'
	test_expect_success "$version: the Lightning script runs in phase train, with its signal in the stamp" '
		expect_output $(cat lightning) "python train.py: train research" &&
		stamp_is $(cat lightning) "phase=train;sig=USR1@90"
	'
	test_expect_success "$version: the job with phases trains, with its GPUs per phase in the stamp" '
		wait_until 90 "the job trains" \
			output_has $(cat phases) "train.py : train research" &&
		stamp_is $(cat phases) \
			phase=train,phase-gpus=train:4+infer:1+retrain:4
	'
	test_expect_success "$version: the scavenger script has tier scavenge, with its signal in the stamp" '
		expect_output $(cat scavenge) \
			"python train.py --resume-if-exists last.pt: none scavenge" &&
		stamp_is $(cat scavenge) "sig=B:USR1@60"
	'
	test_expect_success "$version: the submitit script has the tier of its hint, with its signal in the stamp" '
		expect_output $(cat submitit) \
			"python -u -m submitit.core._submit .: train scavenge" &&
		stamp_is $(cat submitit) "phase=train,tier=scavenge;sig=USR2@90"
	'
	test_expect_success "$version: salloc warns whether an interactive job may be cancelled" '
		as bob salloc -A vision --phase=eval --gres=gpu:a100:1 true 2>err &&
		cat err &&
		grep "egs: an interactive job of tier research is cancelled when it is preempted on loan; within quota it is not preempted; now the GPUs are within the quota of team vision" err &&
		as bob salloc -A vision --phase=eval -N5 --gres=gpu:h100:8 \
			true 2>err &&
		cat err &&
		grep "egs: an interactive job of tier research is cancelled .* not preempted; now the GPUs are on loan" err &&
		as bob salloc -A vision -p scavenge --gres=gpu:a100:1 \
			true 2>err &&
		cat err &&
		grep "egs: an interactive job of tier scavenge is cancelled when it is preempted; now the GPUs are on loan" err
	'
	test_expect_success "$version: all jobs end after scancel" '
		as root scancel -u alice && as root scancel -u bob &&
		as root scancel -u dave && wait_queue_empty
	'
}

# The example in bash gets its signal while it runs.
run_example()
{
	test_expect_success "$version: contrib/examples/train.sh saves and requeues on its signal" '
		job=$(in_week bob sbatch --parsable -A vision -p gpu --egs=quiet \
			--workload=example /srv/egs/contrib/examples/train.sh 75) &&
		stamp_is $job "phase=train,workload=example,quiet=yes;sig=B:USR1@60" &&
		wait_until 90 "the example works" output_has $job "begins at step 0" &&
		as root scancel --batch --signal=USR1 $job &&
		requeued_starts_soon $job
	'
	test_expect_success "$version: contrib/examples/train.sh resumes at the saved step" '
		wait_state $job COMPLETED 180 &&
		output $job >out && cat out &&
		step=$(sed -n "s/^saved at step //p" out) &&
		grep -x "begins at step $step" out &&
		grep -x "done after 75 steps" out
	'
}

scripts()
{
	cluster_up slurm="$version" nodes=10 gpus=8 cores=64 \
		type=h100,h100,h100,h100,a100 egs-conf="$notes/egs.conf"
	run_scripts
	[ "$version" != 22.05 ] || run_example
	cluster_down
}

each_version scripts
cluster_done
