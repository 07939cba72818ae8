#!/bin/bash
# 4110-job-messages.t - what jobs say to egs-policyd, and what is refused
# long: 60 s, two clusters one after the other
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='the verbs of a job: said by its owner, kept, counted once'
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

# speak USER JOB VERB...: egs in the name of a job, from outside of it.
speak()
{
	as "$1" env SLURM_JOB_ID="$2" egs "${@:3}" >out 2>err
}

# refused WORDS USER JOB VERB...: with 1, and one sentence.
refused()
{
	local words=$1

	shift
	speak "$@"
	test $? -eq 1 && printf '%s\n' "egs: $words" | test_cmp - err
}

phase_is()
{
	as root egsctl show jobs -nP -o jobid,phase >jobs.now &&
	grep -qx "$1|$2" jobs.now
}

# why_has JOB WORDS: among what EGS knows of it.
why_has()
{
	as alice egs why "$1" >why.now && grep -qF -e "$2" why.now
}

# in_job JOB CMD...: CMD in a step of alice's job.
in_job()
{
	as alice srun -Q --jobid="$1" --overlap -n1 --gres=none "${@:2}"
}

# bare JOB CMD...: CMD as alice, in a root directory with nothing but egs and the
# run directory of the job.
bare()
{
	rundir=$(in_job "$1" printenv EGS_RUNDIR) &&
	as root unshare -m sh -c '
		root=$(mktemp -d) && chmod 755 "$root" && mkdir "$root/run" &&
		cp /opt/egs/libexec/egs/egs-static "$root/egs" &&
		mount --bind "$2" "$root/run" &&
		SLURM_JOB_ID=$1 EGS_RUNDIR=/run && export SLURM_JOB_ID EGS_RUNDIR &&
		shift 2 && exec chroot --userspec=2001:2001 "$root" "$@"' \
			- "$1" "$rundir" "${@:2}"
}

file_is_there()
{
	as alice test -e "$1"
}

it_speaks()
{
	test_expect_success "$version: the daemon has seen Slurm" '
		wait_policyd slurmctld up
	'
	test_expect_success "$version: a job says what it does, from its first moment on" '
		job=$(submit --gres=gpu:a100:2 -n2 --phase=train speak.sh) &&
		wait_state $job RUNNING &&
		wait_until 90 "the job has spoken" file_is_there spoken.$job
	'
	test_expect_success "$version: and hears what EGS says" '
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
	test_expect_success "$version: EGS knows" '
		phase_is $job retrain &&
		why_has $job "step 41: ckpt/last.pt" &&
		why_has $job "progress: 40 %, finished" &&
		why_has $job "phase infer by alice: reported by the job"
	'
	test_expect_success "$version: nobody else speaks for it" '
		refused "job $job is not yours" bob $job saved &&
		refused "job $job is not yours" bob $job phase eval &&
		echo "(exit 1)" | test_cmp - out &&
		refused "job $job is not yours" bob $job finished &&
		phase_is $job retrain
	'
	test_expect_success "$version: but an operator may" '
		speak root $job phase eval &&
		phase_is $job eval
	'
	test_expect_success "$version: hostile words are refused, and change nothing" '
		long=$(printf "%01025d" 0) &&
		refused "path=${q}a?b${q} has a character that cannot be shown" \
			alice $job saved --path="a
b" &&
		refused "path=${q}a?b${q} has a character that cannot be shown" \
			alice $job saved --path="a$(printf "\342\200\256")b" &&
		refused "the path has 1025 bytes, it may have 1 to 1024" \
			alice $job saved --path=$long &&
		refused "--step=-1 is not a number" alice $job saved --step=-1 &&
		! speak alice $job phase "$(printf "%065d" 0)" &&
		! speak alice $job phase "\$(touch evil)" &&
		! speak alice $job phase "../../etc" &&
		phase_is $job eval &&
		why_has $job "step 41: ckpt/last.pt"
	'
	test_expect_success "$version: a path is what it is, whatever is in it" '
		speak alice $job saved --path="/c/\$(touch evil) \`id\` ${q}x${q}" &&
		why_has $job ": /c/\$(touch evil) \`id\` ${q}x${q}" &&
		as alice test ! -e evil
	'
	test_expect_success "$version: a container has files, and they are enough" '
		wait_until 90 "egs-noded passes it on" \
			in_job $job /opt/egs/libexec/egs/egs-static saved --step=50 &&
		why_has $job "step 50: " &&
		bare $job /egs saved --step=51 --path=/in/a/container &&
		why_has $job "step 51: /in/a/container" &&
		bare $job /egs phase train >out &&
		echo "export EGS_PHASE=${q}train${q}" | test_cmp - out &&
		phase_is $job train &&
		test_expect_code 1 bare $job /egs should-yield
	'
	test_expect_success "$version: what is said while the daemon is away is heard" '
		stop_policyd KILL &&
		test_expect_code 2 bare $job /egs saved --step=52 2>err &&
		grep "egs: no answer; egs-noded will deliver the message" err &&
		policyd_up &&
		wait_until 90 "the message has arrived" why_has $job "step 52"
	'
	test_expect_success "$version: what was acknowledged survives kill -9" '
		speak alice $job saved --path=kept.pt --step=99 &&
		stop_policyd KILL && policyd_up && why_has $job "step 99: kept.pt" &&
		speak alice $job progress 0.75 &&
		stop_policyd KILL && policyd_up && why_has $job "75 %, finished" &&
		speak alice $job phase distill &&
		echo "export EGS_PHASE=${q}distill${q}" | test_cmp - out &&
		stop_policyd KILL && policyd_up && phase_is $job distill
	'
	test_expect_success "$version: an earlier run has nothing to say" '
		as root scontrol requeue $job &&
		wait_state $job PENDING &&
		wait_until 60 "the message of the first run is refused" \
			refused "job $job: the message is from run 0, but this is run 1" \
			alice $job finished
	'
	test_expect_success "$version: and neither has a job that ended" '
		as root scancel $job &&
		wait_queue_empty &&
		wait_until 60 "it is not known any more" \
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
	it_speaks
	cluster_down
}

each_version verbs
test_done
