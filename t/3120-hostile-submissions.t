#!/bin/bash
# 3120-hostile-submissions.t - no road around the rules, and no harm in what is on it
# long: 90 s, two clusters with the daemon, one after the other
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='hostile hints on every road, updates, and the signal'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/hints.sh"
. "$srcdir/t/lib/sh/policyd.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
Partitions=gpu,scavenge
TierOrder=gold,silver,bronze
PollInterval=1s
GpuType=a100
Tier=gold AllowAccounts=fraud
Tier=bronze Partitions=scavenge Loan=always MinRuntime=0s \
	GraceMin=10m GraceMax=10m
Team=fraud Accounts=fraud Quota=a100:4 Tiers=gold,silver DefaultTier=silver
Team=vision Accounts=vision Tiers=silver,bronze DefaultTier=silver MaxGpus=a100:2
Team=labs Groups=vision Tiers=bronze DefaultTier=bronze
Phase=eval Gpus=0
Phase=prep Gpus=0 OutOfRange=adjust
END

gold="egs: --tier=gold refused: team vision may use silver, bronze"

# What no value may be made of, one a line.
values()
{
	printf '%s\n' '$(id)' '../x' 'a;id=0' 'a b' "$(printf '\342\200\256gold')" \
		"$(printf '\033[2J')"
}

# by_each_road VALUE: it is refused on all of them.  A control character as such
# makes a comment something else than JSON.
by_each_road()
{
	local egs="workload=$1" json="{\"egs\":{\"workload\":\"$1\"}}"

	refuses "egs: --workload=" as bob sbatch --egs="$egs" --wrap true &&
	refuses "egs: SBATCH_EGS: --workload=" as bob env SBATCH_EGS="$egs" \
		sbatch --wrap true &&
	refuses "egs: EGS_HINT: --workload=" as bob env EGS_HINT="$egs" \
		sbatch --wrap true &&
	refuses "egs: --workload=" as bob ./client \
		"_SLURM_SPANK_OPTION_egs_workload=$1" &&
	{ [[ $1 = *[[:cntrl:]]* ]] ||
		refuses "egs: --workload=" as bob sbatch --comment="$json" \
			--wrap true; }
}

hostile_values()
{
	test_expect_success "$version: a client of our own making" '
		cc -o "$EGS_SANDBOX_DIR/$cluster/home/bob/client" \
			"$srcdir/t/lib/fake/raw-submit.c" -lslurm
	'
	test_expect_success "$version: values that would be something else" '
		values >list &&
		while IFS= read -r value <&7; do
			by_each_road "$value" || return 1
		done 7<list &&
		by_each_road "a
b" &&
		refuses "egs: --workload=a?b is not a name" as bob sbatch \
			--comment="{\"egs\":{\"workload\":\"a\\nb\"}}" --wrap true &&
		refuses "egs: --workload=a?b is not a name" as bob sbatch \
			--comment="{\"egs\":{\"workload\":\"a\\u0000b\"}}" --wrap true
	'
	test_expect_success "$version: four megabytes of them" '
		refuses "is longer than 64 bytes" as bob ./client \
			big:_SLURM_SPANK_OPTION_egs_tier=@ &&
		refuses "a hint is longer than 1024 bytes" as bob ./client \
			big:_SLURM_SPANK_OPTION_egs_egs=tier=@ &&
		refuses "is not a key of a hint" as bob ./client \
			big:_SLURM_SPANK_OPTION_egs_@=x &&
		refuses "EGS_HINT: a hint is longer than 1024 bytes" \
			as bob ./client big:env:EGS_HINT=tier=@ &&
		refuses "is longer than 64 bytes" as bob ./client \
			"big:comment:{\"egs\":{\"tier\":\"@\"}}"
	'
	test_expect_success "$version: none of them is in the log" '
		! grep -P "[\x00-\x08\x0b-\x1f]|\xe2\x80\xae" \
			"$(log_of "$cluster")"
	'
}

# What sbatch would not say.
other_clients()
{
	test_expect_success "$version: the tier of others, without SPANK" '
		refuses "$gold" as bob ./client account:vision \
			_SLURM_SPANK_OPTION_egs_tier=gold &&
		refuses "$gold" as bob ./client account:vision \
			env:EGS_HINT=tier=gold &&
		refuses "$gold" as bob ./client account:vision \
			"comment:{\"egs\":{\"tier\":\"gold\"}}" &&
		refuses "$gold" as bob ./client account:vision \
			_SLURM_SPANK_OPTION_egs_egs_tier=gold \
			env:EGS_HINT=tier=silver
	'
	test_expect_success "$version: a stamp of its own" '
		refuses "denied" as bob ./client account:vision \
			"admin:egs:1;tier=gold;id=0123456789abcdef"
	'
	test_expect_success "$version: REST and others have EGS_HINT, once" '
		job=$(as bob ./client account:vision \
			env:EGS_HINT=tier=bronze,phase=train env:EGS_TIER=gold \
			env:EGS_RUNDIR=/x env:EGS_LAST_CKPT=/x env:EGS_RESUME=1) &&
		stamp_is $job phase=train,tier=bronze &&
		wait_state $job COMPLETED &&
		as root cat /tmp/client.$job >out &&
		grep -x EGS_TIER=bronze out && grep -x EGS_PHASE=train out &&
		! grep -e EGS_HINT -e EGS_RESUME -e "=/x" -e gold out
	'
}

rest_listens()
{
	as bob test -S rest
}

rest()
{
	as bob /srv/egs/t/lib/check/rest-submit rest vision "$@"
}

# Debian's slurmrestd, as a user, behind a socket of its own.
rest_api()
{
	if ! command -v slurmrestd >/dev/null; then
		say "# skip: slurmrestd is not installed (contrib/deps --tools)"
		return
	fi
	test_expect_success "$version: slurmrestd takes a job with EGS_HINT" '
		{ as bob slurmrestd -s openapi/v0.0.38 -a rest_auth/local \
			unix:rest & } &&
		rest_pid=$! &&
		wait_until 60 "slurmrestd listens" rest_listens &&
		job=$(rest EGS_HINT=tier=bronze,phase=train EGS_TIER=gold) &&
		stamp_is $job phase=train,tier=bronze &&
		wait_state $job COMPLETED &&
		as root cat /tmp/rest.$job >out &&
		grep -x EGS_TIER=bronze out && grep -x EGS_PHASE=train out &&
		! grep -e EGS_HINT -e gold out
	'
	test_expect_success "$version: and none with the tier of others" '
		test_must_fail rest EGS_HINT=tier=gold >out && cat out &&
		test_must_fail rest EGS_HINT=tier=gould >out && cat out &&
		as root pkill -x slurmrestd && { wait "$rest_pid" || :; }
	'
}

# log_has SENTENCE: slurmctld says why; 22.05 cannot tell the user.
log_has()
{
	grep -qF -e "$1" "$(log_of "$cluster")"
}

# update_refused SENTENCE JOB FIELD=VALUE...: by its owner.
update_refused()
{
	wait_until 60 "EGS knows job $2" as bob egs why "$2" >/dev/null
	test_must_fail as bob scontrol update "job=$2" "${@:3}" >said.out 2>&1
	cat said.out
	log_has "egs: JobId=$2: update by uid 2002: $1" &&
	wait_until 60 "egs why has it" why_has "$2" "$1" &&
	{ [ "$version" = 22.05 ] || grep -qF -e "egs: $1" said.out; }
}

why_has()
{
	as bob egs why "$1" | grep -qF -e "update refused by slurmctld: $2"
}

updates()
{
	test_expect_success "$version: an update into another team" '
		job=$(submit --user=bob -H -A vision --tier=bronze --wrap true) &&
		update_refused "--tier=bronze refused: team fraud may use gold, silver" \
			$job account=fraud &&
		stamp_is $job tier=bronze
	'
	test_expect_success "$version: more GPUs than the team may have" '
		job=$(submit --user=bob -H -A vision --gres=gpu:1 --wrap true) &&
		update_refused "4 GPUs refused: team vision may use at most 2" \
			$job gres=gpu:4 &&
		update_refused "3 GPUs refused: team vision may use at most 2" \
			$job numnodes=3 &&
		as bob scontrol update job=$job gres=gpu:2
	'
	test_expect_success "$version: GPUs where the phase has none" '
		job=$(submit --user=bob -H -A vision --phase=prep --wrap true) &&
		update_refused "--phase=prep refused: this phase uses no GPUs; the job requests 2" \
			$job gres=gpu:2 &&
		job=$(submit --user=bob -H -A vision --phase=eval --wrap true) &&
		update_refused "--phase=eval refused: this phase uses no GPUs; the job requests 1" \
			$job gres=gpu:1
	'
	test_expect_success "$version: in from where EGS does not act" '
		job=$(submit --user=bob -H -A vision -p serve --gres=gpu:4 \
			--wrap true) &&
		test -z "$(job_field $job AdminComment | tr -d "\n")" &&
		update_refused "4 GPUs refused: team vision may use at most 2" \
			$job partition=gpu &&
		as bob scontrol update job=$job comment=x
	'
	test_expect_success "$version: nobody writes his own stamp" '
		allow_error "error: Attempt to change admin_comment" &&
		test_must_fail as bob scontrol update job=$job \
			admincomment="egs:1;tier=gold;id=0123456789abcdef" &&
		test -z "$(job_field $job AdminComment | tr -d "\n")"
	'
}

# What a job hears that may not survive a recall.
warnings()
{
	test_expect_success "$version: jobs are told what may become of them" '
		submit --user=bob -H -A vision -p scavenge --gres=gpu:1 \
			--wrap true 2>err &&
		cat err && grep "egs: a job of tier bronze that cannot save (see --ckpt) starts from the beginning when it is preempted" err &&
		submit --user=bob -H -A vision -p scavenge --gres=gpu:1 \
			--no-requeue --ckpt=file --wrap true 2>err &&
		cat err && grep "egs: a job with --no-requeue of tier bronze is cancelled when it is preempted" err &&
		submit --user=bob -H -A vision -p scavenge --gres=gpu:1 \
			--egs=quiet --wrap true 2>err &&
		! grep egs: err &&
		as bob salloc -A vision -p scavenge --gres=gpu:1 true 2>err &&
		cat err && grep "egs: an interactive job of tier bronze is cancelled when it is preempted" err
	'
}

# Static rules hold without the daemon, and nobody waits for it.
without_the_daemon()
{
	test_expect_success "$version: a stopped daemon changes nothing here" '
		as root pkill -STOP -x egs-policyd &&
		refuses "$gold" as bob sbatch -A vision --tier=gold --wrap true &&
		job=$(submit --user=bob -H -A vision --tier=bronze --wrap true) &&
		stamp_is $job tier=bronze &&
		as root pkill -CONT -x egs-policyd
	'
}

# told_to_leave JOB: somebody who owns the GPUs wants them.
told_to_leave()
{
	wait_until 90 "job $1 is ready" output_has "$1" "step ready" &&
	owner=$(submit -A fraud --gres=gpu:4 hold.sh)
}

# gets JOB LINE: the job had this signal.
gets()
{
	wait_until 90 "job $1 has $2" output_has "$1" "$2" || {
		output "$1"
		as root squeue -l
		return 1
	}
}

# unharmed JOB: up to now it was not told to end.  What we send ourselves comes
# behind what Slurm has sent.
unharmed()
{
	as root scancel --signal=USR2 "$1" && gets "$1" "step USR2" &&
	output "$1" >out && cat out && ! grep TERM out
}

both_gone()
{
	as root scancel -u alice && as root scancel -u bob && wait_queue_empty 90
}

signals()
{
	test_expect_success "$version: a job without a signal gets SIGCONT" '
		both_gone &&
		job=$(submit --user=bob -A vision -p scavenge --gres=gpu:2 \
			--ckpt=file signals.sh) &&
		told_to_leave $job && gets $job "step CONT" && unharmed $job &&
		both_gone
	'
	test_expect_success "$version: and one with a signal its own" '
		job=$(submit --user=bob -A vision -p scavenge --gres=gpu:2 \
			--signal=B:USR1@60 signals.sh) &&
		told_to_leave $job && gets $job "batch USR1" && unharmed $job &&
		both_gone
	'
}

hostile()
{
	cluster_up slurm="$version" nodes=1 gpus=4 egs-conf="$notes/egs.conf"
	if [ "$version" = 22.05 ]; then
		hostile_values
		other_clients
		rest_api
	fi
	test_expect_success "$version: egs-policyd works" '
		wait_policyd slurmctld up
	'
	updates
	warnings
	without_the_daemon
	signals
	cluster_down
}

each_version hostile
cluster_done
