# shellcheck shell=bash
# quickstart-scenes.sh - what contrib/quickstart plays, one function per scene
#
# Every line that starts with a user's name and a $ is a command, typed by
# that user in the cluster; what follows it is its real output.  A job runs
# until its user makes the file "enough", so that nothing here depends on how
# fast the machine is.

# The cluster, and the Slurm release it runs.
cluster=quickstart
release=

# How long anything may take before the story gives up, in seconds.
patience=120

# story RELEASE: play it all, in the order of the scenes.
story()
{
	release=$1
	write_scripts
	training
	typo
	serving
	array
	unhinted
	no_gpu_twice
	loans
	report
	borrowing
}

training()
{
	begin 'alice trains a model on two GPUs, and says so'
	submits alice 'sbatch --phase=train --gres=gpu:2 work.sh'
	reaches "$job" RUNNING
	node=$(run_as alice "squeue -h -j $job -o %N")
	types alice 'squeue -o "%.6i %.8u %.9T %.8N %b"'
	show_output alice "$job" 'phase train, GPUs 0,1'
	show_stamp alice "$job" train
}

typo()
{
	begin 'bob mistypes a phase, and hears of it before there is a job'
	types bob 'sbatch --phase=trian --gres=gpu:1 work.sh' fails \
		"did you mean 'train'"
}

serving()
{
	begin "bob serves his model on the GPUs that are left of alice's node"
	submits bob "sbatch --phase=inference -w $node --gres=gpu:1 work.sh"
	reaches "$job" RUNNING
	served=$job
	show_stamp bob "$job" infer
}

array()
{
	begin 'bob evaluates in an array; the phase is in his script'
	types bob 'cat eval.sh'
	submits bob 'sbatch eval.sh'
	reaches "$job" 'RUNNING RUNNING RUNNING RUNNING'
	show_stamp bob "${job}_3" eval
}

unhinted()
{
	begin 'carol says nothing; her job is what it is on any Slurm'
	submits carol 'sbatch --gres=gpu:4 work.sh'
	reaches "$job" RUNNING
	show_output carol "$job" 'phase none, GPUs 0,1,2,3'
	types carol "scontrol show job $job | grep AdminComment" fails
	echo 'Nothing there: EGS has left no mark on it.'
}

no_gpu_twice()
{
	begin 'seven jobs hold GPUs, and no GPU is held twice'
	types alice 'scontrol show job -d | grep -oE "^JobId=\S+|Nodes=.*GRES=.*"'
	types alice 'scontrol show node -d | grep -oE "NodeName=\S+|GresUsed=\S+"'
	eventually 'jobs and nodes agree on who holds what' invariants
	echo 'No GPU is in two jobs, and what the jobs hold is what the nodes' \
		'say is held.'
}

loans()
{
	begin 'who owns these GPUs? the daemon has watched, and explains'
	types root 'grep Team= /etc/slurm/egs.conf'
	eventually 'the daemon has seen all seven jobs run' all_seen
	types root 'egsctl show teams' works fraud
	types root 'egsctl show jobs -o jobid,user,team,tier,phase,gpus,loan' \
		works loan
	types bob "egs why $served" works "job $served: running on 1 a100"
	echo 'What is on loan is what its owners would get back first; here the' \
		'daemon only observes.'
}

all_seen()
{
	[ "$(run_as root 'egsctl show jobs -n -o state' |
		grep -c RUNNING)" -eq 7 ]
}

invariants()
{
	t/lib/check/invariants --jobs=<(run_as alice 'scontrol show job -d') \
		--nodes=<(run_as alice 'scontrol show node -d')
}

report()
{
	local user

	begin 'the jobs end; where their GPU-seconds went, and what stood idle'
	for user in alice bob carol; do
		run_as "$user" 'touch enough' ||
			egs_die "$user cannot end the jobs"
	done
	eventually 'all jobs are over' queue_empty
	eventually 'the daemon has seen them all end' all_ended
	types root 'egs-report jobs -o jobid,user,phase,gpus,elapsed,gpuseconds'
	types root 'egs-report usage --by=user,phase -t seconds' works alice
	types root 'egs-report teams -t seconds' works fraud
	types bob 'egs-report mine -t seconds' works eval
	types root 'egs-report wastage -t seconds -o scope,wr,wrgpu,idle,wasted' \
		works gpu
	echo 'WR is the share of time in which GPUs stood idle beside a job that' \
		'was blocked; man egs-report tells the rest.'
}

borrowing()
{
	local cost=jobid,user,gpus,byjob,how,lostwork,held,restart,lost

	begin 'from now on the daemon acts: alice works on borrowed GPUs'
	if [ ! -e "build/$release/inst/opt/egs/lib/slurm/preempt_egs.so" ]; then
		echo "(Not here: preempt/egs needs Slurm's sources; there are" \
			"none of $release.)"
		return
	fi
	types root 'egsctl mode enforce --reason="two weeks have passed"'
	write_train
	submits alice 'sbatch -N4 --gres=gpu:4 train.sh'
	trained=$job
	reaches "$trained" RUNNING
	show_output alice "$trained" 'starts at step 0'
	begin 'bob wants GPUs of his own back: she is asked, saves and goes'
	submits bob 'sbatch --gres=gpu:4 work.sh'
	reaches "$job" RUNNING
	types alice 'squeue -o "%.6i %.8u %.9T %.8N %b"'
	eventually 'alice is told why' told "$trained"
	types alice "egs why $trained" works "job $job of team fraud"
	begin 'bob is done, and she goes on where she was'
	run_as bob 'touch enough' || egs_die 'bob cannot end his job'
	reaches "$trained" RUNNING
	eventually 'she has resumed' run_as alice \
		"grep -q resumes slurm-$trained.out"
	show_output alice "$trained" 'resumes at step'
	eventually 'the daemon has heard that she works' works_again
	types root "egs-report preemptions -o $cost" works yielded
	echo 'What that cost in seconds, and at the end in GPU-seconds: no work,' \
		'but the time to save and to start again.'
	run_as alice 'touch enough' || egs_die 'alice cannot end her job'
	eventually 'all jobs are over' queue_empty
}

# Until then a restart is taken for a minute.
works_again()
{
	[ "$(run_as root 'egs-report preemptions -n -P -o restart')" != 60 ]
}

told()
{
	run_as alice "egs why $1" | grep -q 'of team fraud'
}

# A script that saves when it is asked to; nobody has had enough any more.
write_train()
{
	run_as alice 'rm enough; cat >train.sh' <<'END' || egs_die "cannot write train.sh"
#!/bin/bash
#SBATCH --phase=train --signal=B:USR1@60
trap 'echo "saves step $step"; echo $step >ckpt; exec egs yield --path=ckpt' USR1
step=$(cat "${EGS_LAST_CKPT:-/dev/null}"); step=${step:-0}
[ -n "$EGS_RESUME" ] && verb=resumes || verb=starts
echo "$verb at step $step"; egs progress 0 &
until [ -e ~/enough ]; do step=$((step + 1)); sleep 0.2; done
END
	run_as bob 'rm enough' || egs_die "cannot remove bob's file"
	types alice 'cat train.sh'
}

all_ended()
{
	[ "$(run_as root 'egs-report jobs -n -o state' |
		grep -c COMPLETED)" -eq 7 ]
}

queue_empty()
{
	local queue

	queue=$(run_as alice 'squeue -h') && [ -z "$queue" ]
}

# The scripts that alice, bob and carol find in their home directories.
write_scripts()
{
	local user

	begin 'alice, bob and carol have a job script: work.sh'
	for user in alice bob carol; do
		run_as "$user" 'cat >work.sh' <<'END' || egs_die "cannot write work.sh"
#!/bin/sh
echo "phase ${EGS_PHASE:-none}, GPUs $CUDA_VISIBLE_DEVICES of $SLURMD_NODENAME"
sleep 2; until [ -e ~/enough ]; do sleep 0.5; done
END
	done
	run_as bob 'cat >eval.sh' <<'END' || egs_die "cannot write eval.sh"
#!/bin/sh
#SBATCH --phase=eval --gres=gpu:1 --array=0-3
exec sh work.sh
END
	types alice 'cat work.sh'
}

# run_as USER COMMAND: run a line of shell as USER in the cluster, at home.
run_as()
{
	contrib/sandbox exec "$cluster" "--user=$1" -- sh -c "cd && $2"
}

# types USER COMMAND [works|fails [TEXT]]: the same, with COMMAND and its output
# for the reader.  The story ends if it is not so that COMMAND works (or fails)
# or its output has no TEXT in it.  The output stays in $said.
types()
{
	local end=works

	printf '    %s$ %s\n' "$1" "$2"
	said=$(run_as "$1" "$2" </dev/null 2>&1) || end=fails
	[ -z "$said" ] || printf '    %s\n' "${said//$'\n'/$'\n    '}"
	[ "$end" = "${3:-works}" ] || egs_die "this command $end"
	[[ $said == *"${4:-}"* ]] || egs_die "the output should have: $4"
}

# submits USER COMMAND: the same for sbatch; the job's id is then in $job.
submits()
{
	types "$1" "$2" works 'Submitted batch job '
	job=${said##* }
}

# show_output USER JOB TEXT: what the job printed, once it has.
show_output()
{
	eventually "job $2 has printed something" \
		run_as "$1" "[ -s slurm-$2.out ]"
	types "$1" "cat slurm-$2.out" works "$3"
}

# show_stamp USER JOB PHASE: where the phase is to be seen.  Without Slurm's
# sources there is no job_submit plugin and so no stamp.
show_stamp()
{
	if [ ! -e "build/$release/inst/opt/egs/lib/slurm/job_submit_egs.so" ]; then
		echo "(The phase would be stamped on the job by job_submit/egs," \
			"which needs Slurm's sources; there are none of $release.)"
		return
	fi
	types "$1" "scontrol show job $2 | grep AdminComment" works "phase=$3"
}

# reaches JOB STATES: until the tasks of JOB are in these states.
reaches()
{
	eventually "job $1 is $2" in_state "$1" "$2"
}

in_state()
{
	[ "$(run_as alice "squeue -h -r -j $1 -o %T" | xargs)" = "$2" ]
}

# eventually WORDS COMMAND...: until COMMAND succeeds; WORDS say for what.
eventually()
{
	local end=$((SECONDS + patience))

	until "${@:2}"; do
		[ "$SECONDS" -lt "$end" ] ||
			egs_die "after $patience s it is not so that $1"
		sleep 0.2
	done
}
