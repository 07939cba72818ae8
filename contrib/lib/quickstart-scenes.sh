# shellcheck shell=bash
# quickstart-scenes.sh - the scenes of contrib/quickstart, one function each
#
# A printed line that starts with the name of a user and a $ is a command that
# this user runs in the cluster; its real output follows.  A job runs until its
# user creates the file "enough", so that nothing depends on the speed of the
# machine.

# The name of the cluster, and its Slurm release.
cluster=quickstart
release=

# The deadline of each wait, in seconds.
deadline_s=120

# story RELEASE: run all scenes in order.
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
	idle
	write_page
}

training()
{
	begin 'alice trains a model on two GPUs and declares the phase of her job'
	submits alice 'sbatch --phase=train --gres=gpu:2 work.sh'
	reaches "$job" RUNNING
	node=$(run_as alice "squeue -h -j $job -o %N")
	types alice 'squeue -o "%.6i %.8u %.9T %.8N %b"'
	show_output alice "$job" 'phase train, GPUs 0,1'
	show_stamp alice "$job" train
}

typo()
{
	begin 'bob misspells a phase, and sbatch refuses the job'
	types bob 'sbatch --phase=trian --gres=gpu:1 work.sh' fails \
		"did you mean 'train'"
}

serving()
{
	begin "bob serves his model on a free GPU of alice's node"
	submits bob "sbatch --phase=inference -w $node --gres=gpu:1 work.sh"
	reaches "$job" RUNNING
	served=$job
	show_stamp bob "$job" infer
}

array()
{
	begin 'bob runs an array of evaluations, with the phase in his script'
	types bob 'cat eval.sh'
	submits bob 'sbatch eval.sh'
	reaches "$job" 'RUNNING RUNNING RUNNING RUNNING'
	show_stamp bob "${job}_3" eval
}

unhinted()
{
	begin 'carol gives no hint, and her job runs as on stock Slurm'
	submits carol 'sbatch --gres=gpu:4 work.sh'
	reaches "$job" RUNNING
	show_output carol "$job" 'phase none, GPUs 0,1,2,3'
	types carol "scontrol show job $job | grep AdminComment" fails
	echo 'There is no AdminComment: EGS has not changed this job.'
}

no_gpu_twice()
{
	begin 'seven jobs run, and no GPU is in two of them'
	types alice 'scontrol show job -d | grep -oE "^JobId=\S+|Nodes=.*GRES=.*"'
	types alice 'scontrol show node -d | grep -oE "NodeName=\S+|GresUsed=\S+"'
	eventually 'jobs and nodes agree about the GPUs in use' invariants
	echo 'No GPU is in two jobs, and jobs and nodes agree about the GPUs in' \
		'use.'
}

loans()
{
	begin 'the daemon has observed the jobs and shows quotas and loans'
	types root 'grep Team= /etc/slurm/egs.conf'
	eventually 'the daemon knows seven running jobs' all_seen
	types root 'egsctl show teams' works fraud
	types root 'egsctl show jobs -o jobid,user,team,tier,phase,gpus,loan' \
		works loan
	types bob "egs why $served" works "job $served: running on 1 a100"
	echo 'A job on loan is preempted first when the team that owns the GPUs' \
		'needs them. So far the daemon only observes.'
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

	begin 'the jobs end, and reports show used and idle GPU time'
	for user in alice bob carol; do
		run_as "$user" 'touch enough' ||
			egs_die "$user cannot end the jobs"
	done
	eventually 'all jobs have ended' queue_empty
	eventually 'the daemon has recorded the end of all jobs' all_ended
	types root 'egs-report jobs -o jobid,user,phase,gpus,elapsed,gpuseconds'
	types root 'egs-report usage --by=user,phase -t seconds' works alice
	types root 'egs-report teams -t seconds' works fraud
	types bob 'egs-report mine -t seconds' works eval
	types root 'egs-report wastage -t seconds -o scope,wr,wrgpu,idle,wasted' \
		works gpu
	echo 'WR is the share of time in which GPUs were idle while a job was' \
		'blocked; see man egs-report.'
}

borrowing()
{
	local cost=jobid,user,gpus,byjob,how,lostwork,held,restart,lost

	begin 'the daemon now enforces the policy, and alice borrows GPUs'
	if ! has_plugin preempt_egs; then
		echo "(Skipped: preempt/egs needs the source of Slurm $release," \
			"which Debian does not have.)"
		return
	fi
	types root 'egsctl mode enforce --reason="trial period is over"'
	write_train
	submits alice 'sbatch -N4 --gres=gpu:4 train.sh'
	trained=$job
	reaches "$trained" RUNNING
	show_output alice "$trained" 'starts at step 0'
	begin "bob needs GPUs of his quota: alice's job is notified, saves, yields"
	submits bob 'sbatch --gres=gpu:4 work.sh'
	reaches "$job" RUNNING
	types alice 'squeue -o "%.6i %.8u %.9T %.8N %b"'
	eventually 'egs why names the requester' names_requester "$trained"
	types alice "egs why $trained" works "job $job of team fraud"
	begin "bob's job ends, and alice's job resumes from its checkpoint"
	run_as bob 'touch enough' || egs_die 'bob cannot end his job'
	reaches "$trained" RUNNING
	eventually 'the job has resumed' run_as alice \
		"grep -q resumes slurm-$trained.out"
	show_output alice "$trained" 'resumes at step'
	eventually 'the daemon knows that the job works again' works_again
	types root "egs-report preemptions -o $cost" works yielded
	echo 'The columns show the cost in seconds, the last one in GPU-seconds:' \
		'no work was lost, only the time to save and to restart.'
	run_as alice 'touch enough' || egs_die 'alice cannot end her job'
	eventually 'all jobs are over' queue_empty
}

idle()
{
	local user

	has_plugin preempt_egs || return 0
	begin 'alice keeps four GPUs and does not use them; bob waits for four'
	forget_enough
	submits carol 'sbatch -N3 --gres=gpu:4 work.sh'
	reaches "$job" RUNNING
	submits alice 'sbatch --gres=gpu:4 train.sh'
	trained=$job
	reaches "$trained" RUNNING
	play_driver "$(run_as alice "squeue -h -j $trained -o %N")"
	echo 'There is no GPU in this machine: a script plays the driver of' \
		"alice's node."
	eventually 'the GPUs are measured' shows_idle "$trained"
	types alice "egs gpu $trained" works 'no process for'
	submits bob 'sbatch --gres=gpu:4 work.sh'
	reaches "$job" RUNNING
	types alice "egs why $trained" works "idle for"
	echo 'She was warned, saved and gave way. Without anybody who waits, the' \
		'GPUs would have been hers.'
	for user in alice bob carol; do
		run_as "$user" 'touch enough' ||
			egs_die "$user cannot end the jobs"
	done
	eventually 'all jobs are over' queue_empty
}

forget_enough()
{
	local user

	for user in alice bob carol; do
		run_as "$user" 'rm -f enough' ||
			egs_die "cannot remove the file of $user"
	done
}

# play_driver NODE: restart egs-noded of NODE with the scripted driver of the
# tests, whose GPUs are idle.
play_driver()
{
	local dir=${EGS_SANDBOX_DIR:-/var/tmp/egs-sandbox}/$cluster/run/sandbox

	cc -shared -fPIC -I. -o "$dir/libnvidia-ml.so.1" t/lib/fake/nvml.c ||
		egs_die 'the scripted driver cannot be built'
	: >"$dir/driver"
	eventually "egs-noded of $1 has ended" noded_ended "$1"
	run_as root "LD_LIBRARY_PATH=/run/sandbox EGS_NVML=/run/sandbox/driver \
		setsid egs-noded -N $1 --log=/var/log/egs-noded-$1.log \
		>/dev/null 2>&1 </dev/null &"
}

noded_ended()
{
	! run_as root "pkill -9 -f '^egs-noded -N $1 '"
}

shows_idle()
{
	run_as alice "egs gpu $1" | grep -q 'no process for'
}

has_plugin()
{
	[ -e "build/$release/inst/opt/egs/lib/slurm/$1.so" ]
}

# write_page: all reports as one file, for a browser.
write_page()
{
	begin 'all of that is on a page for a browser'
	types root 'egs-report --html=page.html --by=user,phase -S midnight'
	run_as root 'cat page.html' >build/quickstart.html ||
		egs_die 'cannot write build/quickstart.html'
	echo 'The page is build/quickstart.html.'
}

# show_page: serve the live page of the kept cluster, outside of it, and print
# its address.  It ends with the cluster.
show_page()
{
	if [ ! -e "build/$release/inst/opt/egs/libexec/egs/egs-web" ]; then
		echo '(No live page: this build has no libmicrohttpd.)'
		return
	fi
	contrib/sandbox exec "$cluster" --host-net -- \
		sh -c 'cd && egs web >page.url 2>&1 </dev/null &'
	eventually 'egs web has printed its address' \
		run_as root 'grep -q ^http page.url'
	echo 'See it in a browser on this machine:'
	echo "    $(run_as root 'head -n 1 page.url')"
}

# Before the job reports progress, its restart is counted as a minute.
works_again()
{
	[ "$(run_as root 'egs-report preemptions -n -P -o restart')" != 60 ]
}

names_requester()
{
	run_as alice "egs why $1" | grep -q 'of team fraud'
}

# A script that saves on its signal.  The files "enough" are removed.
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

# write_scripts: job scripts in the home directories of alice, bob and carol.
write_scripts()
{
	local user

	begin 'alice, bob and carol have this job script'
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

# run_as USER COMMAND: run a line of shell as USER in the cluster.
run_as()
{
	contrib/sandbox exec "$cluster" "--user=$1" -- sh -c "cd && $2"
}

# types USER COMMAND [works|fails [TEXT]]: the same, and print COMMAND and its
# output.  The quickstart stops unless COMMAND works (or fails) and its output
# has TEXT.  The output stays in $output.
types()
{
	local end=works

	printf '    %s$ %s\n' "$1" "$2"
	output=$(run_as "$1" "$2" </dev/null 2>&1) || end=fails
	[ -z "$output" ] || printf '    %s\n' "${output//$'\n'/$'\n    '}"
	[ "$end" = "${3:-works}" ] || egs_die "unexpected: this command $end"
	[[ $output == *"${4:-}"* ]] || egs_die "missing in the output: $4"
}

# submits USER COMMAND: the same for sbatch; sets $job to the job id.
submits()
{
	types "$1" "$2" works 'Submitted batch job '
	job=${output##* }
}

# show_output USER JOB TEXT: wait until the job has printed, and print it.
show_output()
{
	eventually "job $2 has output" \
		run_as "$1" "[ -s slurm-$2.out ]"
	types "$1" "cat slurm-$2.out" works "$3"
}

# show_stamp USER JOB PHASE: show the phase in the record of the job.  Without
# the source of Slurm there is no job_submit plugin and so no stamp.
show_stamp()
{
	if ! has_plugin job_submit_egs; then
		echo "(job_submit/egs would stamp the phase on the job; it needs" \
			"the source of Slurm $release, which Debian does not have.)"
		return
	fi
	types "$1" "scontrol show job $2 | grep AdminComment" works "phase=$3"
}

# reaches JOB STATES: wait until the tasks of JOB are in these states.
reaches()
{
	eventually "job $1 is $2" in_state "$1" "$2"
}

in_state()
{
	[ "$(run_as alice "squeue -h -r -j $1 -o %T" | xargs)" = "$2" ]
}

# eventually STATE COMMAND...: wait until COMMAND succeeds; STATE says for what.
eventually()
{
	local end=$((SECONDS + deadline_s))

	until "${@:2}"; do
		[ "$SECONDS" -lt "$end" ] ||
			egs_die "after $deadline_s s still not true: $1"
		sleep 0.2
	done
}
