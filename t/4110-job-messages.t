#!/bin/bash
# 4110-job-messages.t - messages of jobs to egs-policyd, and refusals
# long: 60 s, two clusters one after the other
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='messages of a job: only from its owner, stored, counted once'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"

conf=$SHARNESS_TEST_DIRECTORY/egs.conf
cat >"$conf" <<'END'
Mode=enforce
TierOrder=prod,research
GpuType=a100
Phase=distill
Team=red Users=alice,bob Quota=a100:4 DefaultTier=research
END

# send USER JOB VERB...: run egs for a job, from outside of it.
send()
{
	as "$1" env SLURM_JOB_ID="$2" egs "${@:3}" >out 2>err
}

# refused WORDS USER JOB VERB...: egs exits with 1 and prints one line.
refused()
{
	local words=$1

	shift
	send "$@"
	test $? -eq 1 && printf '%s\n' "egs: $words" | test_cmp - err
}

phase_is()
{
	as root egsctl show jobs -nP -o jobid,phase >jobs.now &&
	grep -qx "$1|$2" jobs.now
}

# why_has JOB WORDS: egs why prints WORDS.
why_has()
{
	as alice egs why "$1" >why.now && grep -qF -e "$2" why.now
}

# in_job JOB CMD...: run CMD in a step of alice's job.
in_job()
{
	as alice srun -Q --jobid="$1" --overlap -n1 --gres=none "${@:2}"
}

# in_container JOB CMD...: run CMD as alice, in a root directory that has only
# egs and the run directory of the job.
in_container()
{
	rundir=$(in_job "$1" printenv EGS_RUNDIR) &&
	as root unshare -m sh -c '
		root=$(mktemp -d) && chmod 755 "$root" && mkdir "$root/run" &&
		cp /opt/egs/libexec/egs/egs-static "$root/egs" &&
		mount --bind "$2" "$root/run" &&
		SLURM_JOB_ID=$1 EGS_RUNDIR=/run &&
		export SLURM_JOB_ID EGS_RUNDIR &&
		shift 2 && exec chroot --userspec=2001:2001 "$root" "$@"' \
			- "$1" "$rundir" "${@:2}"
}

# print_runs NAME: three old runs of alice of an hour each, with a GPU, for import
print_runs()
{
	local i start

	start=$(($(date +%s) - 100000))
	echo "JobIDRaw|User|JobName|State|Start|End|AllocTRES"
	for i in 1 2 3; do
		echo "90000$i|alice|$1-$i|COMPLETED|$start|$((start + 3600))|cpu=1,gres/gpu=1"
	done
}

# has_run JOB: for two seconds or more
has_run()
{
	local time

	time=$(job_field "$1" RunTime) &&
	[ "$time" != 00:00:00 ] && [ "$time" != 00:00:01 ]
}

# wait_end JOB WORDS: wait until egs why predicts the end of JOB by WORDS
wait_end()
{
	wait_until 90 "the end of job $1 is predicted $2" why_has "$1" "$2" || {
		cat why.now
		return 1
	}
}

file_is_there()
{
	as alice test -e "$1"
}

check_messages()
{
	test_expect_success "$version: egs-policyd has polled slurmctld" '
		wait_policyd slurmctld up
	'
	test_expect_success "$version: a job can send messages as soon as it runs" '
		job=$(submit --gres=gpu:a100:2 -n2 --phase=train speak.sh) &&
		wait_state $job RUNNING &&
		wait_until 90 "the job has sent its messages" \
			file_is_there spoken.$job
	'
	test_expect_success "$version: egs prints the answers and errors in the job" '
		output $job | grep -v ^egs: >found &&
		cat >wanted <<-END &&
		begins in train
		goes on in infer
		a command in retrain
		no such phase: 1
		saved
		progress
		should yield: 1
		yield: 1
		saved by its steps
		finished
		END
		test_cmp wanted found &&
		output $job | grep ^egs: >found &&
		cat >wanted <<-END &&
		egs: ${q}no-such-phase${q} is not a phase (phases: prep, train, eval, infer, retrain, distill)
		egs: job $job has no preemption notice; report a checkpoint with ${q}egs saved${q}
		END
		test_cmp wanted found
	'
	test_expect_success "$version: egs-policyd has the phase, checkpoint and progress of the job" '
		phase_is $job retrain &&
		why_has $job "step 41: ckpt/last.pt" &&
		why_has $job "progress: 40 %, finished" &&
		why_has $job "phase infer by alice: reported by the job"
	'
	test_expect_success "$version: egs-policyd refuses messages of other users" '
		refused "job $job is not yours" bob $job saved &&
		refused "job $job is not yours" bob $job phase eval &&
		echo "(exit 1)" | test_cmp - out &&
		refused "job $job is not yours" bob $job finished &&
		phase_is $job retrain
	'
	test_expect_success "$version: egs-policyd accepts messages of an operator" '
		send root $job phase eval &&
		phase_is $job eval
	'
	test_expect_success "$version: egs phase and egsctl update know other words for a phase" '
		send alice $job phase predict && phase_is $job infer &&
		as root egsctl update job=$job phase=finetune --reason=test >out &&
		grep "^job $job: phase=finetune, set by root: test (until it is requeued" out &&
		phase_is $job train &&
		send alice $job phase distill && phase_is $job distill &&
		send root $job phase eval && phase_is $job eval
	'
	test_expect_success "$version: hostile values are refused and change nothing" '
		long=$(printf "%01025d" 0) &&
		refused "path=${q}a?b${q} has a character that cannot be shown" \
			alice $job saved --path="a
b" &&
		refused "path=${q}a?b${q} has a character that cannot be shown" \
			alice $job saved --path="a$(printf "\342\200\256")b" &&
		refused "the path has 1025 bytes, it may have 1 to 1024" \
			alice $job saved --path=$long &&
		refused "--step=-1 is not a number" alice $job saved --step=-1 &&
		! send alice $job phase "$(printf "%065d" 0)" &&
		! send alice $job phase "\$(touch evil)" &&
		! send alice $job phase "../../etc" &&
		phase_is $job eval &&
		why_has $job "step 41: ckpt/last.pt"
	'
	test_expect_success "$version: a path with shell characters is stored unchanged" '
		send alice $job saved --path="/c/\$(touch evil) \`id\` ${q}x${q}" &&
		why_has $job ": /c/\$(touch evil) \`id\` ${q}x${q}" &&
		as alice test ! -e evil
	'
	test_expect_success "$version: messages work from a container that has only the run directory" '
		wait_until 90 "egs-noded passes the message on" \
			in_job $job /opt/egs/libexec/egs/egs-static saved --step=50 &&
		why_has $job "step 50: " &&
		in_container $job /egs saved --step=51 --path=/in/a/container &&
		why_has $job "step 51: /in/a/container" &&
		in_container $job /egs phase train >out &&
		echo "export EGS_PHASE=${q}train${q}" | test_cmp - out &&
		phase_is $job train &&
		test_expect_code 1 in_container $job /egs should-yield
	'
	test_expect_success "$version: a message sent while egs-policyd is down arrives later" '
		stop_policyd KILL &&
		test_expect_code 2 in_container $job /egs saved --step=52 2>err &&
		grep "egs: no answer; egs-noded will deliver the message" err &&
		policyd_up &&
		wait_until 90 "the message has arrived" why_has $job "step 52"
	'
	test_expect_success "$version: acknowledged messages survive kill -9 of egs-policyd" '
		send alice $job saved --path=kept.pt --step=99 &&
		stop_policyd KILL && policyd_up &&
		why_has $job "step 99: kept.pt" &&
		send alice $job progress 0.75 &&
		stop_policyd KILL && policyd_up &&
		why_has $job "75 %, finished" &&
		send alice $job phase distill &&
		echo "export EGS_PHASE=${q}distill${q}" | test_cmp - out &&
		stop_policyd KILL && policyd_up && phase_is $job distill
	'
	test_expect_success "$version: egs why predicts the end of a job from imported runs like it" '
		long=$(submit --gres=gpu:a100:1 -J nightly-7 hold.sh) &&
		wait_state $long RUNNING &&
		print_runs nightly | as root egs-report import - >got &&
		grep "^3 runs imported" got &&
		wait_end $long "; by 3 runs of the user with this name and as many GPUs" &&
		grep "^end: between .* in 8 of 10 cases, likely " why.now &&
		as alice egs why --json $long >got && grep "end_by.*user+name" got &&
		held=$(submit --gres=gpu:a100:1 -J nightly-9 --hold hold.sh) &&
		wait_end $held "; by 3 runs of the user with this name and as many GPUs" &&
		grep "^run time: from .* in 8 of 10 cases, likely 60 min; " why.now &&
		next=$(submit -d afterok:$long -J nightly-10 --gres=gpu:a100:1 hold.sh) &&
		last=$(submit -d afterok:$next -J nightly-11 --gres=gpu:a100:1 hold.sh) &&
		wait_end $last "; by 3 runs of the user with this name" &&
		grep "^start: between .* when the jobs that it depends on have ended" why.now &&
		as root scancel $held $next $last
	'
	test_expect_success "$version: egs-policyd learns from a job that ends, also for its next start" '
		short=$(submit --gres=gpu:a100:1 -J nightly-8 --wrap=true) &&
		wait_end $long "; by 4 runs of the user with this name" &&
		stop_policyd KILL && policyd_up &&
		wait_end $long "; by 4 runs of the user with this name"
	'
	test_expect_success "$version: progress predicts the end of a job until it falls" '
		wait_until 60 "job $long has run for two seconds" has_run $long &&
		send alice $long progress 0.5 &&
		wait_end $long "; by the progress that it reports" &&
		send alice $long progress 0.2 &&
		wait_end $long "; by 4 runs of the user with this name" &&
		as root scancel $long
	'
	test_expect_success "$version: without runs like it a job is expected by its time limit" '
		long=$(submit --gres=gpu:a100:2 -t 90 -J other hold.sh) &&
		wait_state $long RUNNING &&
		wait_end $long ", its time limit; no 3 runs like it have ended yet" &&
		as root scancel $long
	'
	test_expect_success "$version: a message of an earlier run is refused" '
		as root scontrol requeue $job &&
		wait_state $job PENDING &&
		wait_until 60 "the message of the first run is refused" \
			refused "job $job: the message is from run 0, but this is run 1" \
			alice $job finished
	'
	test_expect_success "$version: a message of an ended job is refused" '
		as root scancel $job &&
		wait_queue_empty &&
		wait_until 60 "job $job is removed" \
			refused "job $job is not known: it has ended, or Slurm has not shown it yet" \
			alice $job saved &&
		refused "job=${q}\$(id)${q} is not a job id; use 81234 or 81234_7" \
			alice "\$(id)" saved
	'
}

q="'"
verbs()
{
	cluster_up slurm="$version" nodes=1 gpus=4 egs-conf="$conf"
	check_messages
	cluster_down
}

each_version verbs
test_done
