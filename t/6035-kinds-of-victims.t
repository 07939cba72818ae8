#!/bin/bash
# 6035-kinds-of-victims.t - victims of every kind have a defined end, as egs(7) has it
# long: 60 s, a cluster for each Slurm, each victim on a node of its own
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='what becomes of arrays, het jobs, suspended and other victims'
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
Team=vision Users=bob Quota=a100:26 DefaultTier=prod
END
echo "PrologSlurmctld=$jobs/slow-prolog.sh" >"$notes/slurm.conf"

egs=/opt/egs/bin/egs

# victim NAME NODE [OPTION]... -- CMD...: alice's job, which runs CMD when asked
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

# taker NAME NODE [GPUS]: bob's job, which wants the GPUs of that node
taker()
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
		stopped answering; do
		wait_state "$(of "$name")" RUNNING &&
		wait_until 60 "$name has begun" has_begun "$(of "$name")" ||
			return
	done
	wait_state "$(of array)" RUNNING && wait_state "$(of het)" RUNNING &&
	wait_state "$(of ending)" RUNNING &&
	wait_until 60 'element 1 has begun' has_begun "$(of array)_1" &&
	wait_until 60 'element 0 has begun' has_begun "$(of array)_0" &&
	wait_until 60 'the het job has begun' has_begun "$(of het)" &&
	wait_state "$(of configuring)" CONFIGURING
}

# restarted N JOB...: each of them was requeued N times
restarted()
{
	[ "$(restarts "${@:2}" | tr ' ' '\n' | sort -u)" = "$1" ]
}

returned()
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

# stop NAME: suspend it when it was asked; the request is taken back
stop()
{
	wait_until 60 "$1 is asked" got_signal "$1" &&
	wait_why alice "$(of "$1")" "being preempted" &&
	as root scontrol suspend "$(of "$1")" &&
	wait_why alice "$(of "$1")" " spared " &&
	wait_until 60 "$1 need not go" left_alone "$1" &&
	job_is "$(of "$1")" SUSPENDED
}

# one_of_two ARRAY: one element was requeued, the other runs on
one_of_two()
{
	[ "$(restarts "$1_0" "$1_1" | tr ' ' '\n' | sort | xargs)" = '0 1' ]
}

ended()
{
	wait_until 90 "$1 has ended" has_ended "$(of "$1")" &&
	job_field "$(of "$1")" JobState | grep -qE 'CANCELLED|PREEMPTED' &&
	restarted 0 "$(of "$1")"
}

# not_asked NAME: the ledger has others
not_asked()
{
	as root /opt/egs/bin/egs-report preemptions -n -P -o jobid \
		>"$notes/asked" &&
	test -s "$notes/asked" && ! grep -x "$(of "$1")" "$notes/asked"
}

victims()
{
	cluster_up slurm="$version" nodes=13 gpus=2 cores=2 \
		conf="$notes/slurm.conf" egs-conf="$notes/egs.conf"
	test_expect_success "$version: jobs of all kinds run, one is configured" '
		submit_all && all_begin
	'
	test_expect_success "$version: one is suspended, one has little time left" '
		as root scontrol suspend "$(of suspended)" &&
		wait_state "$(of suspended)" SUSPENDED &&
		as root scontrol update job "$(of late)" EndTime=now+15
	'
	test_expect_success "$version: all of their GPUs are wanted" '
		taker for-norequeue n1 && taker for-array n2 1 &&
		taker for-het n3 && taker for-suspended n5 &&
		taker for-configuring n6 && taker for-cancelled n7 &&
		taker for-late n8 && taker for-brittle n9 &&
		taker for-dear n10 1 && taker for-stopped n12 &&
		taker for-answering n13
	'
	test_expect_success "$version: two are suspended after they were asked" '
		stop stopped && stop answering &&
		job_is "$(of for-stopped)" PENDING &&
		job_is "$(of for-answering)" PENDING
	'
	test_expect_success "$version: also those of a job that is ending" '
		as alice scancel "$(of ending)" &&
		wait_state "$(of ending)" COMPLETING && taker for-ending n11
	'
	test_expect_success "$version: of an array only one element goes" '
		wait_state "$(of for-array)" RUNNING &&
		wait_until 60 "one element was requeued" one_of_two "$(of array)"
	'
	test_expect_success "$version: a het job goes whole" '
		wait_state "$(of for-het)" RUNNING && returned het
	'
	test_expect_success "$version: one that has not begun goes at once" '
		returned configuring && as root touch /run/sandbox/begin &&
		wait_state "$(of for-configuring)" RUNNING
	'
	test_expect_success "$version: --no-requeue: it is cancelled" '
		wait_state "$(of for-norequeue)" RUNNING && ended norequeue
	'
	test_expect_success "$version: AtDeadline=cancel: it is cancelled" '
		wait_state "$(of for-brittle)" RUNNING && ended brittle
	'
	test_expect_success "$version: AtDeadline=spare: another one goes" '
		wait_why alice "$(of dear)" " spared " &&
		wait_state "$(of for-dear)" RUNNING && returned other &&
		job_is "$(of dear)" RUNNING && restarted 0 "$(of dear)"
	'
	test_expect_success "$version: scancel wins, also after a yield" '
		returned cancelled && as alice scancel "$(of cancelled)" &&
		wait_state "$(of for-cancelled)" RUNNING &&
		wait_state "$(of cancelled)" CANCELLED
	'
	test_expect_success "$version: one that is ending is not asked" '
		wait_state "$(of for-ending)" RUNNING &&
		wait_state "$(of ending)" CANCELLED && not_asked ending
	'
	test_expect_success "$version: a time limit in the grace is its end" '
		wait_state "$(of for-late)" RUNNING && returned late
	'
	test_expect_success "$version: a suspended job is left alone" '
		job_is "$(of suspended)" SUSPENDED &&
		job_is "$(of for-suspended)" PENDING
	'
	test_expect_success "$version: also by an operator, who is told" '
		test_must_fail egsctl preempt "$(of suspended)" --reason=test \
			2>"$notes/refused" &&
		grep "is suspended and cannot checkpoint; resume it first" \
			"$notes/refused"
	'
	test_expect_success "$version: and asked when it goes on" '
		as root scontrol resume "$(of suspended)" &&
		wait_state "$(of for-suspended)" RUNNING && returned suspended
	'
	test_expect_success "$version: so is one that was suspended later" '
		as alice touch resumed &&
		as root scontrol resume "$(of stopped)" &&
		wait_state "$(of for-stopped)" RUNNING && returned stopped
	'
	test_expect_success "$version: one with an answer on its way goes" '
		drop_message n13 "$(of answering)" 1-yield verb=yield &&
		wait_state "$(of for-answering)" RUNNING && returned answering
	'
	test_expect_success "$version: they come back and end once" '
		as alice touch go && as bob touch go &&
		for name in array het configuring late suspended dear other \
			stopped answering; do
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

each_version victims
cluster_done
