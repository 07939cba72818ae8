#!/bin/bash
# 3120-hostile-submissions.t - hostile submissions and updates are refused
# long: 90 s, two clusters with the daemon, one after the other
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='hostile hints from every source, hostile updates, and signals'
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
	GraceMin=10m GraceMax=10m Expedite=no
Team=fraud Accounts=fraud Quota=a100:4 Tiers=gold,silver DefaultTier=silver
Team=vision Accounts=vision Tiers=silver,bronze DefaultTier=silver MaxGpus=a100:2
Team=labs Groups=vision Tiers=bronze DefaultTier=bronze
Phase=eval Gpus=0
Phase=prep Gpus=0 OutOfRange=adjust
END

gold="egs: --tier=gold refused: team vision may use silver, bronze"

# Hostile values, one a line.
values()
{
	printf '%s\n' '$(id)' '../x' 'a;id=0' 'a b' "$(printf '\342\200\256gold')" \
		"$(printf '\033[2J')"
}

# refused_from_each_source VALUE: a raw control character is left out of the
# comment, which would not be JSON.
refused_from_each_source()
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
	test_expect_success "$version: hostile values are refused from every source" '
		cc -o "$EGS_SANDBOX_DIR/$cluster/home/bob/client" \
			"$srcdir/t/lib/fake/raw-submit.c" -lslurm &&
		values >list &&
		while IFS= read -r value <&7; do
			refused_from_each_source "$value" || return 1
		done 7<list &&
		refused_from_each_source "a
b" &&
		refuses "egs: --workload=a?b is not a name" as bob sbatch \
			--comment="{\"egs\":{\"workload\":\"a\\nb\"}}" --wrap true &&
		refuses "egs: --workload=a?b is not a name" as bob sbatch \
			--comment="{\"egs\":{\"workload\":\"a\\u0000b\"}}" --wrap true
	'
	test_expect_success "$version: values of four megabytes are refused" '
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
	test_expect_success "$version: no control character reaches the log of slurmctld" '
		! grep -P "[\x00-\x08\x0b-\x1f]|\xe2\x80\xae" \
			"$(log_of "$cluster")"
	'
}

# What sbatch would not send.
other_clients()
{
	test_expect_success "$version: a client without SPANK cannot use the tier of another team" '
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
	test_expect_success "$version: a client cannot submit its own stamp" '
		refuses "denied" as bob ./client account:vision \
			"admin:egs:1;tier=gold;id=0123456789abcdef"
	'
	test_expect_success "$version: EGS_HINT of another client becomes the stamp and is removed" '
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
	as bob /srv/egs/t/lib/check/rest-submit rest "$api" vision "$@"
}

# Debian's slurmrestd, as a user, on a private socket.
rest_api()
{
	if ! as root sh -c 'command -v slurmrestd' >/dev/null; then
		say "# skip: slurmrestd of Slurm $version is not installed"
		return
	fi
	api=v0.0.42 part=slurmctld
	[ "$version" != 22.05 ] || api=v0.0.38 part=v0.0.38
	test_expect_success "$version: slurmrestd accepts a job with EGS_HINT" '
		as bob rm -f rest &&
		{ as bob slurmrestd -s "openapi/$part" -a rest_auth/local \
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
	test_expect_success "$version: slurmrestd refuses a job with the tier of another team" '
		test_must_fail rest EGS_HINT=tier=gold >out && cat out &&
		test_must_fail rest EGS_HINT=tier=gould >out && cat out &&
		as root pkill -x slurmrestd && { wait "$rest_pid" || :; }
	'
}

# log_has SENTENCE: slurmctld logs the reason; 22.05 cannot send it to the user.
log_has()
{
	grep -qF -e "$1" "$(log_of "$cluster")"
}

# update_refused SENTENCE JOB FIELD=VALUE...: an update by the owner of the job.
update_refused()
{
	wait_until 60 "egs why knows job $2" as bob egs why "$2" >/dev/null
	test_must_fail as bob scontrol update "job=$2" "${@:3}" >said.out 2>&1
	cat said.out
	log_has "egs: JobId=$2: update by uid 2002: $1" &&
	wait_until 60 "egs why shows the refusal" why_has "$2" "$1" &&
	{ [ "$version" = 22.05 ] || grep -qF -e "egs: $1" said.out; }
}

why_has()
{
	as bob egs why "$1" | grep -qF -e "update refused by slurmctld: $2"
}

updates()
{
	test_expect_success "$version: an update into a team without the tier is refused" '
		job=$(submit --user=bob -H -A vision --tier=bronze --wrap true) &&
		update_refused "--tier=bronze refused: team fraud may use gold, silver" \
			$job account=fraud &&
		stamp_is $job tier=bronze
	'
	test_expect_success "$version: an update beyond the MaxGpus of the team is refused" '
		job=$(submit --user=bob -H -A vision --gres=gpu:1 --wrap true) &&
		update_refused "4 GPUs refused: team vision may use at most 2" \
			$job gres=gpu:4 &&
		update_refused "3 GPUs refused: team vision may use at most 2" \
			$job numnodes=3 &&
		as bob scontrol update job=$job gres=gpu:2
	'
	test_expect_success "$version: an update to GPUs in a phase without GPUs is refused" '
		job=$(submit --user=bob -H -A vision --phase=prep --wrap true) &&
		update_refused "--phase=prep refused: this phase uses no GPUs; the job requests 2" \
			$job gres=gpu:2 &&
		job=$(submit --user=bob -H -A vision --phase=eval --wrap true) &&
		update_refused "--phase=eval refused: this phase uses no GPUs; the job requests 1" \
			$job gres=gpu:1
	'
	test_expect_success "$version: an update into a managed partition is checked" '
		job=$(submit --user=bob -H -A vision -p serve --gres=gpu:4 \
			--wrap true) &&
		test -z "$(job_field $job AdminComment | tr -d "\n")" &&
		update_refused "4 GPUs refused: team vision may use at most 2" \
			$job partition=gpu &&
		as bob scontrol update job=$job comment=x
	'
	test_expect_success "$version: users cannot write a stamp with an update" '
		allow_error "error: Attempt to change admin_comment" &&
		test_must_fail as bob scontrol update job=$job \
			admincomment="egs:1;tier=gold;id=0123456789abcdef" &&
		test -z "$(job_field $job AdminComment | tr -d "\n")"
	'
}

# Warnings at submission about preemption.
warnings()
{
	test_expect_success "$version: sbatch and salloc warn about jobs that lose work when preempted" '
		submit --user=bob -H -A vision -p scavenge --gres=gpu:1 \
			--wrap true 2>err &&
		cat err && grep "egs: this job of tier bronze cannot save (see --ckpt): if it is preempted, its steps get SIGTERM and it starts again from the beginning" err &&
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

# From 25.11 on.
expedited()
{
	as root sbatch --help | grep -q expedite || return
	test_expect_success "$version: a tier with Expedite=no refuses --requeue=expedite" '
		refuses "egs: --requeue=expedite refused: tier bronze does not allow it" \
			as bob sbatch -A vision --tier=bronze \
			--requeue=expedite --wrap true
	'
}

# Static rules need no daemon, and slurmctld does not wait for it.
without_the_daemon()
{
	test_expect_success "$version: submission rules hold while the daemon is stopped" '
		as root pkill -STOP -x egs-policyd &&
		refuses "$gold" as bob sbatch -A vision --tier=gold --wrap true &&
		job=$(submit --user=bob -H -A vision --tier=bronze --wrap true) &&
		stamp_is $job tier=bronze &&
		as root pkill -CONT -x egs-policyd
	'
}

# preempt JOB: submit a job that owns the GPUs.
preempt()
{
	wait_until 90 "job $1 is ready" output_has "$1" "step ready" &&
	owner=$(submit -A fraud --gres=gpu:4 hold.sh)
}

# wait_signal JOB LINE: the job has logged this signal.
wait_signal()
{
	wait_until 90 "job $1 has $2" output_has "$1" "$2" || {
		output "$1"
		as root squeue -l
		return 1
	}
}

# no_sigterm JOB: Slurm has not sent SIGTERM so far.  The USR2 sent here arrives
# after all that Slurm has sent.
no_sigterm()
{
	as root scancel --signal=USR2 "$1" && wait_signal "$1" "step USR2" &&
	output "$1" >out && cat out && ! grep TERM out
}

cancel_both_users()
{
	as root scancel -u alice && as root scancel -u bob && wait_queue_empty 90
}

signals()
{
	test_expect_success "$version: a preempted job without --signal gets SIGCONT" '
		cancel_both_users &&
		job=$(submit --user=bob -A vision -p scavenge --gres=gpu:2 \
			--ckpt=file signals.sh) &&
		preempt $job && wait_signal $job "step CONT" && no_sigterm $job &&
		cancel_both_users
	'
	test_expect_success "$version: a preempted job with --signal gets its signal" '
		job=$(submit --user=bob -A vision -p scavenge --gres=gpu:2 \
			--signal=B:USR1@60 signals.sh) &&
		preempt $job && wait_signal $job "batch USR1" && no_sigterm $job &&
		cancel_both_users
	'
}

hostile()
{
	cluster_up slurm="$version" nodes=1 gpus=4 egs-conf="$notes/egs.conf"
	if [ "$version" = 22.05 ]; then
		hostile_values
		other_clients
	fi
	rest_api
	test_expect_success "$version: egs-policyd has polled slurmctld" '
		wait_policyd slurmctld up
	'
	updates
	warnings
	expedited
	without_the_daemon
	signals
	cluster_down
}

each_version hostile
cluster_done
