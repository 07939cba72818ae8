#!/bin/bash
# 3100-hints.t - every source of a hint, and what is refused from each
# long: 90 s, three clusters one after the other
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='hints of all kinds, their precedence, and refusals'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/hints.sh"

conf=$SHARNESS_TEST_DIRECTORY/egs.conf
cat >"$conf" <<'END'
Mode=enforce
Partitions=gpu,serve
TierOrder=gold,silver,bronze
Team=vision Accounts=vision Tiers=silver,bronze DefaultTier=silver
Team=fraud Accounts=fraud,fraud-prod Tiers=gold,silver DefaultTier=silver
Team=students Accounts=teaching Tiers=bronze DefaultTier=bronze Mode=observe
Tier=gold AllowAccounts=fraud-prod
Tier=bronze NoRequeue=cancel
Phase=prep Gpus=0 OutOfRange=adjust
Phase=eval Gpus=0
Phase=infer Partitions=serve
Phase=distill Gpus=1-2
Workload=fraud Team=fraud
END

gold="egs: --tier=gold refused: team vision may use silver, bronze (see 'egsctl show tiers')"

# held OPTION...: submit a held job of bob and print its id.
held()
{
	submit --user=bob -H -A vision "$@" --wrap true 2>said.err
}

# expect_output JOB LINE...: the job completes and has printed these lines.
expect_output()
{
	wait_state "$1" COMPLETED || return
	printf '%s\n' "${@:2}" >wanted
	output "$1" >found && test_cmp wanted found
}

# plugstack ARGUMENT...: other arguments for spank_egs.
plugstack()
{
	as root sh -c 'f=/etc/slurm/plugstack.conf &&
		sed "s|\(spank_egs.so\).*|\1 $*|" $f >/tmp/plugstack &&
		cat /tmp/plugstack >$f' sh "$@"
}

# What SPANK does without plugins in slurmctld, with every Slurm.
check_options()
{
	test_expect_success "$version: --help lists the options under [egs]" '
		for command in sbatch salloc srun; do
			as bob $command --help >help &&
			for name in phase tier workload ckpt save-time \
				phase-gpus preload egs; do
				grep -e "--$name=" help || return 1
			done || return 1
		done &&
		grep -F "[egs]" help
	'
	test_expect_success "$version: a job sees its hint in EGS_ variables" '
		job=$(submit --user=bob -A vision --phase=distill --tier=Bronze \
			--workload=cats/serve --gres=gpu:1 --ckpt=signal:usr1@60 \
			--save-time=00:01:30 --egs=exit=finish,quiet told.sh) &&
		expect_output $job "batch: distill bronze cats/serve none" \
			"step: distill bronze cats/serve none"
	'
	test_expect_success "$version: #SBATCH hints reach the job, also with --export=NIL" '
		job=$(submit --user=bob -A vision script.sh) &&
		expect_output $job "train bronze cats" &&
		job=$(submit --user=bob -A vision --export=NIL \
			--tier=silver script.sh) &&
		expect_output $job "train silver cats"
	'
	test_expect_success "$version: srun and salloc pass the hint to the job" '
		as bob srun -A vision --tier=bronze --workload=w \
			sh -c "echo \$EGS_TIER \$EGS_WORKLOAD" >out &&
		grep -x "bronze w" out &&
		as bob salloc -A vision --egs=tier=bronze,workload=w \
			srun sh -c "echo \$EGS_TIER \$EGS_WORKLOAD" >out &&
		grep -x "bronze w" out
	'
	test_expect_success "$version: SBATCH_EGS is the hint of a job without options" '
		job=$(as bob env SBATCH_EGS=tier=bronze,workload=cats \
			sbatch --parsable -A vision "$jobs/told.sh") &&
		expect_output $job "batch: none bronze cats none" \
			"step: none bronze cats none"
	'
	test_expect_success "$version: options override SBATCH_EGS, with one warning" '
		as bob env SBATCH_EGS=tier=bronze,phase=train \
			sbatch --parsable -A vision --tier=silver \
			--egs=phase=train "$jobs/told.sh" >id 2>err &&
		cat err &&
		test "$(grep -c "egs: SBATCH_EGS differs from the options in tier" \
			err)" -eq 1 &&
		expect_output $(cat id) "batch: train silver none none" \
			"step: train silver none none"
	'
	test_expect_success "$version: a job submitted inside a job inherits no hint" '
		job=$(as bob env SBATCH_EGS=workload=cats sbatch --parsable \
			-A vision --phase=train --tier=bronze "$jobs/nest.sh") &&
		wait_state $job COMPLETED &&
		inner=$(output $job) &&
		wait_state $inner COMPLETED &&
		output $inner >out &&
		! grep -e bronze -e train -e cats out
	'
	test_expect_success "$version: EGS_ variables of the shell set no hint" '
		job=$(as bob env EGS_PHASE=eval EGS_TIER=gold EGS_WORKLOAD=x \
			EGS_RESUME=1 sbatch --parsable -A vision \
			--phase=train "$jobs/told.sh") &&
		wait_state $job COMPLETED &&
		output $job >out &&
		! grep -e eval -e gold -e x out && grep "^batch: train" out
	'
	test_expect_success "$version: bad values are refused by sbatch, srun and salloc" '
		refuses "egs: SBATCH_EGS: --phase=trian is not a phase; did you mean" \
			as bob env SBATCH_EGS=phase=trian sbatch --wrap true &&
		refuses "egs: --egs=exit=no is not a word (words: yield, finish)" \
			as bob sbatch --egs=exit=no --wrap true &&
		refuses "egs: group is not in this version" \
			as bob sbatch --egs=group=a/2 --wrap true &&
		refuses "egs: max-gpu-hours is not in this version" \
			as bob sbatch --egs=max-gpu-hours=9 --wrap true &&
		refuses "egs: requeue-at-limit is not in this version" \
			as bob sbatch --egs=requeue-at-limit=yes --wrap true &&
		refuses "egs: --phase=distil is not a phase; did you mean '"'distill'"'?" \
			as bob srun --phase=distil true &&
		refuses "egs: --save-time=90 is a bare number; use 90s or 90m" \
			as bob salloc --save-time=90 true
	'
	test_expect_success "$version: hostile values are refused by sbatch" '
		for value in "a
b" "\$(id)" "../x" "$(printf "\342\200\256gold")" "a;id=0" "a b"; do
			refuses "egs: --workload=" \
				as bob sbatch --workload="$value" --wrap true ||
				return 1
		done &&
		refuses "is longer than 64 bytes" as bob sh -c \
			"x=\$(head -c 100000 /dev/zero | tr \"\\0\" x) &&
			sbatch --tier=\$x --wrap true"
	'
}

# The arguments in plugstack.conf.
check_plugstack_arguments()
{
	test_expect_success "$version: names=prefixed renames the options" '
		plugstack names=prefixed &&
		as bob sbatch --help >help &&
		grep -e --egs-phase= help && ! grep -e " --phase=" help &&
		refuses "unrecognized option" as bob sbatch --tier=bronze \
			--wrap true &&
		job=$(submit --user=bob -A vision --egs-tier=bronze \
			--egs-save-time=9s --egs=workload=w told.sh) &&
		expect_output $job "batch: none bronze w none" \
			"step: none bronze w none"
	'
	test_expect_success "$version: inert accepts every option and ignores it" '
		plugstack inert &&
		job=$(submit --user=bob -A chem --phase=trian --tier=x told.sh) &&
		expect_output $job "batch: none none none none" \
			"step: none none none none" &&
		test -z "$(job_field $job AdminComment | tr -d "\n")" &&
		plugstack
	'
}

# The stamp that slurmctld makes of a hint.
check_stamps()
{
	test_expect_success "$version: the stamp has every key of the hint" '
		job=$(held --phase=distill --tier=bronze --gres=gpu:1 \
			--workload=cats/serve --ckpt=signal:B:usr1@60 \
			--save-time=90s --egs=exit=finish,quiet) &&
		stamp_is $job "phase=distill,tier=bronze,workload=cats/serve,ckpt=signal:B:USR1@60,save-time=90s,exit=finish,quiet=yes"
	'
	test_expect_success "$version: the stamp has the phase that another word stands for" '
		job=$(held --phase=Finetune --phase-gpus=finetune:2,predict:1) &&
		stamp_is $job "phase=train,phase-gpus=train:2+infer:1"
	'
	test_expect_success "$version: keys for later versions are stamped, with one warning" '
		job=$(held --phase-gpus=train:4,Inference:1 --preload=./stage \
			--egs=restart=phase,acks=all) &&
		stamp_is $job "phase-gpus=train:4+infer:1,preload=./stage,restart=phase,acks=all" &&
		test "$(grep -c "egs: reserved for a later version and ignored by this one: preload$" \
			said.err)" -eq 1
	'
	test_expect_success "$version: the stamp has the signal of --signal" '
		job=$(held --phase=train --signal=B:USR1@90) &&
		stamp_is $job "phase=train;sig=B:USR1@90" &&
		refuses "egs: --ckpt=signal needs --signal; or use --ckpt=signal:SIG" \
			as bob sbatch -A vision --ckpt=signal --wrap true
	'
	test_expect_success "$version: a job of a team without a hint has an empty stamp" '
		job=$(held) && stamp_is $job "" &&
		job=$(held -A chem) &&
		test -z "$(job_field $job AdminComment | tr -d "\n")"
	'
	test_expect_success "$version: array tasks and het components have stamps" '
		job=$(held --array=1-2 --tier=bronze) && stamp_is $job tier=bronze &&
		het=$(as bob env SBATCH_EGS=workload=cats sbatch --parsable \
			-H -A vision --phase=train : -A vision --tier=bronze : \
			-A vision --egs=tier=bronze "$jobs/hold.sh") &&
		stamp_is $het+0 phase=train,workload=cats &&
		stamp_is $het+1 tier=bronze,workload=cats &&
		stamp_is $het+2 tier=bronze,workload=cats
	'
	test_expect_success "$version: EGS_HINT and --comment set the hint" '
		job=$(as bob env EGS_HINT=tier=bronze,workload=cats sbatch \
			--parsable -A vision --comment="{\"egs\":{\"phase\":\"train\"}}" \
			"$jobs/told.sh") &&
		expect_output $job "batch: train bronze cats none" \
			"step: train bronze cats none" &&
		stamp_is $job phase=train,tier=bronze,workload=cats
	'
	test_expect_success "$version: options override EGS_HINT, and EGS_HINT overrides --comment" '
		job=$(as bob env EGS_HINT=tier=bronze,workload=cats sbatch \
			--parsable -H -A vision --tier=silver \
			--comment="{\"egs\":{\"workload\":\"dogs\"}}" \
			--wrap true 2>err) &&
		cat err &&
		grep "egs: EGS_HINT differs from the options in tier; the options" err &&
		stamp_is $job tier=silver,workload=cats
	'
}

# What a user may not do, from any source.
check_refusals()
{
	test_expect_success "$version: a tier of another team is refused from every source" '
		refuses "$gold" as bob sbatch -A vision --tier=gold --wrap true &&
		refuses "$gold" as bob srun -A vision --tier=gold true &&
		refuses "$gold" as bob salloc -A vision --tier=gold true &&
		refuses "$gold" as bob sbatch -A vision --egs=tier=gold --wrap true &&
		refuses "$gold" as bob env SBATCH_EGS=tier=gold \
			sbatch -A vision --wrap true &&
		refuses "$gold" as bob env EGS_HINT=tier=gold \
			sbatch -A vision --wrap true &&
		refuses "$gold" as bob sbatch -A vision --wrap true \
			--comment="{\"egs\":{\"tier\":\"gold\"}}" &&
		refuses "$gold" as bob sbatch -A vision --array=1-2 --tier=gold \
			--wrap true &&
		refuses "$gold" as bob sbatch -A vision : -A vision --tier=gold \
			"$jobs/hold.sh"
	'
	test_expect_success "$version: a tier of another team is refused inside a job" '
		job=$(submit --user=bob -A vision nest.sh -A vision --tier=gold) &&
		wait_state $job FAILED &&
		output $job | grep -F "$gold"
	'
	test_expect_success "$version: unknown tiers and workloads of other teams are refused" '
		refuses "egs: --tier=glod is not a tier; did you mean '"'gold'"'? (tiers: gold, silver, bronze)" \
			as bob sbatch -A vision --tier=glod --wrap true &&
		refuses "egs: --workload=fraud/x refused: it is a workload of team fraud, and account vision is in team vision" \
			as bob sbatch -A vision --workload=fraud/x --wrap true &&
		refuses "egs: --tier=gold refused: account fraud may use silver (see" \
			as alice sbatch -A fraud --tier=gold --wrap true &&
		grep "submission failed: Access/permission denied" said.out &&
		job=$(submit -H -A fraud-prod --tier=gold --wrap true) &&
		stamp_is $job tier=gold
	'
	test_expect_success "$version: GPUs and partitions that a phase does not allow are refused" '
		refuses "egs: --phase=eval refused: this phase uses no GPUs; the job requests 2" \
			as bob sbatch -A vision --phase=eval --gres=gpu:2 --wrap true &&
		refuses "egs: --phase=distill refused: this phase uses 1-2 GPUs; the job requests 3" \
			as bob sbatch -A vision --phase=distill --gpus=3 --wrap true &&
		refuses "egs: --phase=infer refused in partition gpu: this phase is for serve" \
			as bob sbatch -A vision --phase=infer --wrap true &&
		job=$(held --phase=infer -p serve) && stamp_is $job phase=infer &&
		job=$(held --phase=prep --gres=gpu:2) &&
		grep "egs: --phase=prep: the job gets 0 GPUs instead of 2" said.err &&
		test -z "$(job_field $job TresPerNode | tr -d "\n")"
	'
	test_expect_success "$version: an update of account or AdminComment does not change the tier" '
		job=$(held --tier=bronze) &&
		test_must_fail as bob scontrol update job=$job account=fraud &&
		as bob scontrol update job=$job comment=x timelimit=5 &&
		stamp_is $job tier=bronze &&
		as root scontrol update job=$job \
			admincomment="look egs:1;tier=gold;id=0123456789abcdef" &&
		job_field $job AdminComment >out && cat out &&
		grep "look egs:1;tier=bronze;id=" out && ! grep gold out
	'
	test_expect_success "$version: outside of managed partitions and teams a hint only warns" '
		job=$(held -p scavenge --tier=gold) &&
		grep "egs: --tier=gold has no effect in partition scavenge" said.err &&
		stamp_is $job tier=gold &&
		job=$(held -A chem --tier=gold --phase=eval --gres=gpu:2) &&
		grep "egs: --tier=gold has no effect: account chem is in no team" said.err
	'
	test_expect_success "$version: a team with Mode=observe gets warnings, not refusals" '
		job=$(submit --user=dave -H -A teaching --tier=gold --ckpt=file \
			--wrap true 2>err) &&
		cat err &&
		grep -F "egs: warning: --tier=gold refused: team students may use bronze (see '"'egsctl show tiers'"'); EGS only observes team students, so the job is accepted" err &&
		stamp_is $job tier=gold,ckpt=file &&
		job=$(as dave env EGS_HINT=tier=bronze,phase=trian sbatch \
			--parsable -H -A teaching --wrap true 2>err) &&
		cat err &&
		grep "egs: warning: EGS_HINT: --phase=trian is not a phase; .*; EGS only observes team students, so the job is accepted without a hint" err &&
		stamp_is $job "" &&
		refuses "egs: EGS_HINT: --phase=trian is not a phase" as bob \
			env EGS_HINT=phase=trian sbatch -A vision --wrap true
	'
}

# Job options that EGS sets for a job with a tier.
check_job_options()
{
	test_expect_success "$version: a job with a checkpoint may be requeued and appends to its output" '
		job=$(held --ckpt=file) &&
		test "$(job_field $job Requeue)" = 1 &&
		job=$(held --ckpt=file --no-requeue --gres=gpu:1) &&
		test "$(job_field $job Requeue)" = 0 &&
		grep "egs: a job with --no-requeue of tier silver is cancelled when" said.err &&
		job=$(submit --user=bob -A vision --gres=gpu:1 --ckpt=file \
			again.sh) &&
		wait_until 90 "it runs" output_has $job first &&
		as bob scontrol requeue $job && requeued_starts_soon $job &&
		wait_state $job COMPLETED 180 &&
		output $job >out && cat out &&
		grep -x first out && grep -x "again 1" out
	'
}

# append_conf LINE: to egs.conf; slurmctld checks the file once a second.
append_conf()
{
	as root sh -c 'echo "$1" >>/etc/slurm/egs.conf' sh "$1"
}

# The file changes under a running slurmctld.
check_changed_conf()
{
	test_expect_success "$version: slurmctld applies a changed egs.conf without a restart" '
		append_conf "Workload=cats Team=fraud" &&
		wait_until 60 "the new file is in force" refuses \
			"egs: --workload=cats refused: it is a workload of team" \
			as bob sbatch -H -A vision --workload=cats --wrap true
	'
	test_expect_success "$version: slurmctld keeps the last good egs.conf after a mistake" '
		allow_error "^error: egs: /etc/slurm/egs.conf:" &&
		append_conf "Teem=x" &&
		wait_until 60 "the mistake is noticed" log_says "Teem" &&
		refuses "egs: --workload=cats refused" \
			as bob sbatch -A vision --workload=cats --wrap true
	'
}

# log_says WORD: slurmctld reads the file when a job is submitted.
log_says()
{
	held --phase=train >/dev/null
	grep -q "error: egs: .*$1" "$(log_of "$cluster")"
}

for version in $EGS_TEST_VERSIONS; do
	cluster_up slurm="$version" nodes=1 gpus=4 egs-conf="$conf"
	check_options
	check_plugstack_arguments
	if has_plugins "$version"; then
		check_stamps
		check_refusals
		check_job_options
		check_changed_conf
	fi
	test_expect_success "$version: all jobs end after scancel" '
		as root scancel -u alice && as root scancel -u bob &&
		as root scancel -u dave &&
		wait_queue_empty
	'
	cluster_down
done
cluster_done
