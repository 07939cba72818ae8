#!/bin/bash
# 6035-kinds-of-victims.t - preemption of every kind of job, as in egs(7)
# long: 60 s, a cluster for each Slurm, each victim on a node of its own
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='preemption of arrays, het jobs, suspended jobs and other kinds'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/noded.sh"
. "$srcdir/t/lib/sh/preempt.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,research,hasty,brittle,dear
PollInterval=1s
GpuType=a100
Tier=prod Partitions=serve
Tier=research MinRuntime=0s MaxPreemptions=none GraceMin=300s GraceMax=300s
Tier=hasty MinRuntime=0s MaxPreemptions=none GraceMin=2s GraceMax=2s \
	NoRequeue=cancel
Tier=brittle MinRuntime=0s MaxPreemptions=none GraceMin=2s GraceMax=2s \
	AtDeadline=cancel
Tier=dear MinRuntime=0s MaxPreemptions=none GraceMin=2s GraceMax=2s \
	AtDeadline=spare
Team=fraud Users=alice Quota=none DefaultTier=research
Team=vision Users=bob Quota=a100:30 DefaultTier=prod
END
echo "PrologSlurmctld=$jobs/slow-prolog.sh" >"$notes/slurm.conf"

egs=/opt/egs/bin/egs

# A job that declares nothing: its step says so when it gets SIGTERM
asks_step='echo "run ${SLURM_RESTART_COUNT:-0}"
	srun sh -c "trap \"echo asked; exit 143\" TERM; echo begun
		until [ -e \$HOME/go ]; do sleep 0.2; done"'

# victim NAME NODE [OPTION]... -- CMD...: alice's job; runs CMD on its signal
victim()
{
	local name=$1 options=(-w "$2" --gres=gpu:a100:2)

	while [ "$3" != -- ]; do
		options+=("$3")
		shift
	done
	submit -J "$name" --signal=B:USR1@60 "${options[@]}" victim.sh \
		"${@:4}" >"$notes/job-$name"
}

# requester NAME NODE [GPUS]: bob's job, which needs the GPUs of that node
requester()
{
	submit --user=bob -J "$1" --partition=serve -w "$2" \
		--gres="gpu:a100:${3:-2}" hold.sh >"$notes/job-$1"
}

of()
{
	cat "$notes/job-$1"
}

submit_all()
{
	victim norequeue n1 --tier=hasty --no-requeue -- true &&
	victim array n2 --array=0-1 --gres=gpu:a100:1 -- exit 0 &&
	as alice sbatch --parsable -J het --signal=B:USR1@60 \
		-w n3 --gres=gpu:a100:2 : -w n4 --gres=gpu:a100:2 \
		"$jobs/victim.sh" exit 0 >"$notes/job-het" &&
	victim suspended n5 -- exit 0 &&
	victim configuring n6 -- true &&
	victim cancelled n7 -- eval \
		"trap '' TERM; $egs yield; while :; do sleep 1; done" &&
	victim late n8 --time=5 -- true &&
	victim brittle n9 --tier=brittle -- true &&
	victim dear n10 --tier=dear --gres=gpu:a100:1 -- true &&
	victim other n10 --gres=gpu:a100:1 -- exit 0 &&
	victim stopped n12 -- eval '[ -e resumed ] && exit 0' &&
	victim answering n13 -- true &&
	submit -J plain -w n14 --gres=gpu:a100:2 --wrap "$asks_step" \
		>"$notes/job-plain" &&
	submit -J unable -w n15 --gres=gpu:a100:2 --ckpt=none hold.sh \
		>"$notes/job-unable" &&
	submit -J ending -w n11 --gres=gpu:a100:2 --signal=B:USR1@60 --wrap \
		"trap '' TERM; while :; do sleep 1; done" >"$notes/job-ending"
}

has_begun()
{
	as root cat "$(job_field "$1" StdOut | head -n 1)" 2>/dev/null |
		grep -q 'run 0'
}

all_begin()
{
	local name

	for name in norequeue suspended cancelled late brittle dear other \
		stopped answering plain; do
		wait_state "$(of "$name")" RUNNING &&
		wait_until 60 "$name has begun" has_begun "$(of "$name")" ||
			return
	done
	wait_state "$(of array)" RUNNING && wait_state "$(of het)" RUNNING &&
	wait_state "$(of ending)" RUNNING &&
	wait_state "$(of unable)" RUNNING &&
	wait_until 60 'the step of job plain has begun' \
		output_has "$(of plain)" begun &&
	wait_until 60 'element 1 has begun' has_begun "$(of array)_1" &&
	wait_until 60 'element 0 has begun' has_begun "$(of array)_0" &&
	wait_until 60 'the het job has begun' has_begun "$(of het)" &&
	wait_state "$(of configuring)" CONFIGURING
}

# restarted N JOB...: each of them has N restarts
restarted()
{
	[ "$(restarts "${@:2}" | tr ' ' '\n' | sort -u)" = "$1" ]
}

expect_requeued()
{
	wait_until 90 "$1 is requeued" restarted 1 "$(of "$1")"
}

got_signal()
{
	output "$(of "$1")" | grep -q asked
}

left_alone()
{
	[ "$(job_field "$(of "$1")" PreemptTime)" = None ]
}

# suspend_victim NAME: after its notice; the preemption is withdrawn
suspend_victim()
{
	wait_until 60 "$1 gets its signal" got_signal "$1" &&
	wait_why alice "$(of "$1")" "being preempted" &&
	as root scontrol suspend "$(of "$1")" &&
	wait_why alice "$(of "$1")" " spared " &&
	wait_until 60 "the preemption of $1 is withdrawn" left_alone "$1" &&
	job_is "$(of "$1")" SUSPENDED
}

# one_of_two ARRAY: one element has one restart, the other none
one_of_two()
{
	[ "$(restarts "$1_0" "$1_1" | tr ' ' '\n' | sort | xargs)" = '0 1' ]
}

expect_ended()
{
	wait_until 90 "$1 has ended" has_ended "$(of "$1")" &&
	job_field "$(of "$1")" JobState | grep -qE 'CANCELLED|PREEMPTED' &&
	restarted 0 "$(of "$1")"
}

# not_preempted NAME: the report of preemptions has others only
not_preempted()
{
	as root /opt/egs/bin/egs-report preemptions -n -P -o jobid \
		>"$notes/asked" &&
	test -s "$notes/asked" && ! grep -x "$(of "$1")" "$notes/asked"
}

run_all()
{
	cluster_up slurm="$version" nodes=15 gpus=2 cores=2 \
		conf="$notes/slurm.conf" egs-conf="$notes/egs.conf"
	test_expect_success "$version: jobs of all kinds run, and one is still in its prolog" '
		submit_all && all_begin
	'
	test_expect_success "$version: egs-policyd preempts jobs of all kinds" '
		as root scontrol suspend "$(of suspended)" &&
		wait_state "$(of suspended)" SUSPENDED &&
		as root scontrol update job "$(of late)" EndTime=now+15 &&
		requester for-norequeue n1 && requester for-array n2 1 &&
		requester for-het n3 && requester for-suspended n5 &&
		requester for-configuring n6 && requester for-cancelled n7 &&
		requester for-late n8 && requester for-brittle n9 &&
		requester for-dear n10 1 && requester for-stopped n12 &&
		requester for-answering n13 && requester for-plain n14 &&
		requester for-unable n15 &&
		wait_until 60 "job answering gets its signal" \
			got_signal answering
	'
	test_expect_success "$version: a preemption is withdrawn when the job is suspended" '
		suspend_victim stopped && suspend_victim answering &&
		job_is "$(of for-stopped)" PENDING &&
		job_is "$(of for-answering)" PENDING
	'
	test_expect_success "$version: a job waits for the GPUs of a completing job" '
		as alice scancel "$(of ending)" &&
		wait_state "$(of ending)" COMPLETING &&
		requester for-ending n11 &&
		job_is "$(of for-ending)" PENDING
	'
	test_expect_success "$version: one element of an array is preempted, the other runs" '
		wait_state "$(of for-array)" RUNNING &&
		wait_until 60 "one element was requeued" \
			one_of_two "$(of array)"
	'
	test_expect_success "$version: all components of a het job are requeued" '
		wait_state "$(of for-het)" RUNNING && expect_requeued het
	'
	test_expect_success "$version: a job in its prolog is requeued at once" '
		expect_requeued configuring &&
		as root touch /run/sandbox/begin &&
		wait_state "$(of for-configuring)" RUNNING
	'
	test_expect_success "$version: a victim with --no-requeue is cancelled" '
		wait_state "$(of for-norequeue)" RUNNING &&
		expect_ended norequeue
	'
	test_expect_success "$version: steps of a victim that declares nothing get SIGTERM at once" '
		wait_state "$(of for-plain)" RUNNING && expect_requeued plain &&
		output "$(of plain)" >out && cat out && grep -x asked out
	'
	test_expect_success "$version: a victim with --ckpt=none has no grace period" '
		wait_state "$(of for-unable)" RUNNING && expect_requeued unable
	'
	test_expect_success "$version: a victim with AtDeadline=cancel is cancelled" '
		wait_state "$(of for-brittle)" RUNNING && expect_ended brittle
	'
	test_expect_success "$version: a victim with AtDeadline=spare stays, and another is preempted" '
		wait_why alice "$(of dear)" " spared " &&
		wait_state "$(of for-dear)" RUNNING && expect_requeued other &&
		job_is "$(of dear)" RUNNING && restarted 0 "$(of dear)"
	'
	test_expect_success "$version: a victim cancelled after its yield stays cancelled" '
		expect_requeued cancelled &&
		as alice scancel "$(of cancelled)" &&
		wait_state "$(of for-cancelled)" RUNNING &&
		wait_state "$(of cancelled)" CANCELLED
	'
	test_expect_success "$version: a job that is completing is not preempted" '
		wait_state "$(of for-ending)" RUNNING &&
		wait_state "$(of ending)" CANCELLED && not_preempted ending
	'
	test_expect_success "$version: a victim that reaches its time limit in the grace period is requeued" '
		wait_state "$(of for-late)" RUNNING && expect_requeued late
	'
	test_expect_success "$version: a suspended job is not preempted" '
		job_is "$(of suspended)" SUSPENDED &&
		job_is "$(of for-suspended)" PENDING
	'
	test_expect_success "$version: egsctl preempt refuses a suspended job" '
		test_must_fail egsctl preempt "$(of suspended)" --reason=test \
			2>"$notes/refused" &&
		grep "is suspended and cannot checkpoint; resume it first" \
			"$notes/refused"
	'
	test_expect_success "$version: a resumed job is preempted" '
		as root scontrol resume "$(of suspended)" &&
		wait_state "$(of for-suspended)" RUNNING &&
		expect_requeued suspended
	'
	test_expect_success "$version: a job resumed after a withdrawn preemption is preempted" '
		as alice touch resumed &&
		as root scontrol resume "$(of stopped)" &&
		wait_state "$(of for-stopped)" RUNNING &&
		expect_requeued stopped
	'
	test_expect_success "$version: a yield sent before the suspension requeues the job" '
		drop_message n13 "$(of answering)" 1-yield verb=yield &&
		wait_state "$(of for-answering)" RUNNING &&
		expect_requeued answering
	'
	test_expect_success "$version: requeued victims restart once and complete" '
		as alice touch go && as bob touch go &&
		for name in array het configuring late suspended dear other \
			stopped answering plain unable; do
			wait_state "$(of "$name")" COMPLETED || return
		done &&
		one_of_two "$(of array)" &&
		restarted 1 "$(of het)" "$(of configuring)" "$(of late)" \
			"$(of suspended)" "$(of other)" "$(of stopped)" \
			"$(of answering)" &&
		restarted 0 "$(of dear)" && job_is "$(of cancelled)" CANCELLED
	'
	cluster_down
}

each_version run_all
cluster_done
