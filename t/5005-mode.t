#!/bin/bash
# 5005-mode.t - observe and enforce: one mode, the daemon's
# long: 120 s, a cluster for each Slurm
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='plugins follow the mode of egs-policyd, and observe mode changes nothing'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

# dave is in no team.
cat >"$notes/egs.conf" <<'END'
TierOrder=prod,research
PreemptBase=preempt/partition_prio
PollInterval=1s
LiveResize=yes
GpuType=a100
Tier=research MinRuntime=0s GraceMin=300s GraceMax=300s
Team=fraud Users=alice Quota=a100:4 DefaultTier=research Tiers=research
Team=vision Users=bob Quota=a100:4 DefaultTier=research
END
cat >"$notes/slurm.conf" <<'END'
JobRequeue=0
PartitionName=serve Nodes=ALL PriorityTier=10 MaxTime=INFINITE
END

# list_pairs OPTION...: the report of pairs of jobs in observe mode
list_pairs()
{
	as root egs-report observed -S now-1hour "$@"
}

# observed VICTIM REQUESTER: the report has this pair
observed()
{
	list_pairs -nP -o jobid,byjob >"$notes/observed" &&
	grep -qx "$1|$2" "$notes/observed"
}

# requester_waited JOB: the report has the real wait of a job that has started
requester_waited()
{
	list_pairs --json >"$notes/observed" &&
	grep -q "\"byjob\": \"$1\".*\"waited\": [0-9]" "$notes/observed"
}

# running USER OPTION...: submit a job and wait until its script has begun
running()
{
	local user=$1 job

	shift
	job=$(submit --user="$user" "$@") &&
	wait_state "$job" RUNNING >&2 &&
	wait_until 60 "job $job has begun" output_has "$job" 'run 0.*' >&2 &&
	echo "$job"
}

# resize USER JOB: scontrol, as on stock Slurm or as with EGS
resize()
{
	as "$1" scontrol update JobId="$2" Gres=gpu:a100:1 >resized 2>&1
}

check_observe()
{
	test_expect_success "$version: observe mode changes no submitted job" '
		owned=$(running bob --gres=gpu:a100:4 --ckpt=file victim.sh) &&
		signal=$(running bob --gres=gpu:a100:2 --requeue \
			--ckpt=signal:B:USR1@60 victim.sh exit 99) &&
		file=$(running bob --gres=gpu:a100:2 --requeue --ckpt=file \
			victim.sh) &&
		test "$(job_field "$owned" Requeue)" = 0
	'
	test_expect_success "$version: in observe mode a forbidden tier is a warning" '
		job=$(submit -H --tier=prod --wrap true 2>err) && cat err &&
		grep "warning: --tier=prod refused.*; EGS only observes, so" err &&
		as alice scancel "$job"
	'
	test_expect_success "$version: in observe mode egs why names the victim and says that nothing is done" '
		asker=$(submit --gres=gpu:a100:4 -N1 hold.sh) &&
		wait_why alice "$asker" \
			"2 jobs (first: job .*) must be preempted for it; EGS only observes, so nothing is done" &&
		expect_pending_after_scheduling "$asker" &&
		test "$(restarts "$owned" "$signal" "$file")" = "0 0 0"
	'
	test_expect_success "$version: egs-report observed has both jobs that would be preempted" '
		wait_until 60 "a pair is recorded" observed "$signal" "$asker" &&
		wait_until 60 "a pair is recorded" observed "$file" "$asker" &&
		! observed "$owned" "$asker" &&
		list_pairs -nP -o user,team,tier,gpus,how,byuser,byteam,bytier >got &&
		test "$(sort -u got)" = \
			"bob|vision|research|2|requeue|alice|fraud|research" &&
		list_pairs --csv | grep "^TIME,JOBID,USER" &&
		list_pairs >got && cat got &&
		grep -E "^[0-9]+ jobs would have started [0-9.]+ h earlier in sum; 2 jobs would have been preempted, [0-9.]+ GPU-hours lost" got
	'
	test_expect_success "$version: a victim counts for one requester at a time" '
		second=$(submit --gres=gpu:a100:4 -N1 --tier=research hold.sh) &&
		wait_why alice "$second" "may not preempt the other jobs" &&
		wait_scheduling_cycles 3 &&
		list_pairs -nP -o byjob >got && ! grep "$second" got &&
		as alice scancel "$second"
	'
	test_expect_success "$version: a user sees only pairs with own jobs" '
		as alice egs-report observed -nP -o jobid >got && test -s got &&
		as carol egs-report observed -nP -o jobid >got && test ! -s got
	'
	test_expect_success "$version: the pairs survive a restart of egs-policyd" '
		stop_policyd KILL && policyd_up &&
		wait_scheduling_cycles 3 &&
		list_pairs -nP -o jobid,byjob >got && cat got &&
		test "$(wc -l <got)" = 2
	'
	test_expect_success "$version: observe mode does not resize a job" '
		test_must_fail resize bob "$file" && cat resized &&
		grep "no longer pending" resized &&
		test_must_fail as bob env SLURM_JOB_ID="$file" \
			SLURM_RESTART_COUNT=0 /opt/egs/bin/egs phase infer \
			--gpus=1 >got 2>&1 &&
		cat got && grep "EGS only observes" got &&
		job_field "$file" TresPerNode | grep ":2"
	'
}

check_enforce()
{
	test_expect_success "$version: a job submitted in observe mode gets its signal after egsctl mode enforce" '
		egsctl mode enforce --reason="two weeks are over" &&
		wait_until 90 "job $signal got its signal" output_has "$signal" asked &&
		wait_until 90 "job $file is asked" is_being_preempted "$file" &&
		job_is "$file" RUNNING
	'
	test_expect_success "$version: a job submitted in observe mode yields and keeps its output" '
		wait_until 90 "job $signal is requeued" restarted "$signal" &&
		as bob touch go &&
		wait_state "$file" COMPLETED && wait_state "$asker" RUNNING &&
		as alice touch go && wait_state "$asker" COMPLETED &&
		wait_state "$signal" COMPLETED &&
		output "$signal" >out && cat out &&
		grep -x "run 0" out && grep -x "run 1" out
	'
	test_expect_success "$version: a job submitted in enforce mode is made ready" '
		as alice rm go && as bob rm go &&
		wait_state "$owned" COMPLETED &&
		job=$(running bob --gres=gpu:a100:1 --ckpt=file victim.sh) &&
		test "$(job_field "$job" Requeue)" = 1 &&
		plain=$(running bob --gres=gpu:a100:1 victim.sh) &&
		test "$(job_field "$plain" Requeue)" = 0 &&
		kept=$(running bob --gres=gpu:a100:1 --ckpt=file --no-requeue \
			victim.sh) &&
		test "$(job_field "$kept" Requeue)" = 0
	'
	test_expect_success "$version: after egsctl mode enforce a forbidden tier is refused" '
		test_must_fail as alice sbatch --tier=prod --wrap true 2>err &&
		grep "tier=prod refused" err && ! grep observes err
	'
	test_expect_success "$version: only managed jobs are resized" '
		wide=$(running bob --gres=gpu:a100:2 victim.sh) &&
		{ resize bob "$wide" || true; } && cat resized &&
		! grep "no longer pending" resized &&
		other=$(running dave --gres=gpu:a100:2 victim.sh) &&
		test_must_fail resize dave "$other" &&
		grep "no longer pending" resized
	'
	test_expect_success "$version: with egsctl mode observe a forbidden tier is a warning, whatever the file" '
		as root sed -i "1i Mode=enforce" /etc/slurm/egs.conf &&
		egsctl reconfigure &&
		egsctl mode observe --reason=test &&
		job=$(submit -H --tier=prod --wrap true 2>err) && cat err &&
		grep "; EGS only observes, so" err &&
		as alice scancel "$job" &&
		egsctl mode file --reason=test &&
		test_must_fail as alice sbatch --tier=prod --wrap true
	'
}

check_switch()
{
	test_expect_success "$version: a preemption is withdrawn when EGS begins to observe" '
		cancel_all_jobs &&
		owned=$(running bob --gres=gpu:a100:4 --ckpt=file victim.sh) &&
		saving=$(running bob --gres=gpu:a100:4 \
			--ckpt=signal:B:USR1@60 asked.sh exit 99) &&
		asker=$(submit --gres=gpu:a100:4 hold.sh) &&
		wait_until 90 "job $saving got its signal" output_has "$saving" asked &&
		egsctl mode observe --reason=test &&
		wait_until 60 "the preemption of job $saving is withdrawn" \
			is_not_being_preempted "$saving" &&
		job_is "$saving" RUNNING && job_is "$asker" PENDING &&
		wait_why bob "$saving" "withdraw by policy: EGS only observes now"
	'
	test_expect_success "$version: a job that was saving when EGS began to observe is requeued when it exits" '
		as bob touch leave &&
		wait_until 60 "job $saving is requeued" restarted "$saving" &&
		wait_state "$asker" RUNNING && as alice scancel "$asker" &&
		wait_state "$saving" RUNNING &&
		egsctl mode file --reason=test && as bob rm leave
	'
}

# waits_for_begin JOB: Slurm has set a begin time
waits_for_begin()
{
	[ "$(job_field "$1" Reason)" = BeginTime ]
}

is_known_to_run()
{
	as root /opt/egs/sbin/egsctl show jobs -nP -o jobid,state |
		grep -qx "$1|RUNNING"
}

# A job that ends before egs-policyd has seen it ends as on stock Slurm.  slurmd
# refuses a start in the second in which the job ended, so it begins a second later.
check_exit_99()
{
	test_expect_success "$version: exit code 99 ends a job that is not managed" '
		job=$(submit --user=dave --wrap "exit 99") &&
		wait_state "$job" FAILED &&
		test "$(restarts "$job")" = 0
	'
	test_expect_success "$version: exit code 99 requeues a managed job that declared a checkpoint" '
		as bob rm -f go &&
		job=$(submit --user=bob --ckpt=file --wrap \
			"until [ -e go ]; do sleep 0.1; done
			test -n \"\$SLURM_RESTART_COUNT\" || exit 99") &&
		wait_state "$job" RUNNING &&
		wait_until 60 "egs-policyd knows that job $job runs" \
			is_known_to_run "$job" && as bob touch go &&
		wait_until 60 "job $job is requeued" restarted "$job" &&
		wait_state "$job" PENDING
	'
	test_expect_success "$version: a job that exits with 99 without a notice waits for Slurm's delay" '
		! job_field "$job" AdminComment | grep departed &&
		wait_until 60 "job $job has a begin time" \
			waits_for_begin "$job" &&
		! as bob egs why "$job" | grep preempted &&
		as root scontrol update JobId="$job" StartTime=now+1 &&
		wait_state "$job" COMPLETED && test "$(restarts "$job")" = 1 &&
		as bob rm go
	'
}

# has_decisions: the plugins and the daemon use the table again
has_decisions()
{
	test_must_fail as alice sbatch -H --tier=prod --wrap true 2>err &&
	grep -q "tier=prod refused" err
}

check_table()
{
	allow_error "/run/egs/table: (not a decision table|layout 0,)"
	test_expect_success "$version: slurmctld and egs-policyd survive a decision table that is cut short" '
		pids=$(as root pgrep -x "slurmctld|egs-policyd" | sort) &&
		mark_policyd_log &&
		as root truncate -s 0 /run/egs/table &&
		job=$(submit -H --gres=gpu:a100:1 --wrap true) &&
		wait_policyd_log "table: was cut short; written again" &&
		test "$(as root pgrep -x "slurmctld|egs-policyd" | sort)" = "$pids"
	'
	test_expect_success "$version: plugins read the repaired decision table" '
		wait_until 60 "a forbidden tier is refused" has_decisions &&
		as alice scancel "$job"
	'
}

hanging_slurmctld()
{
	cc -shared -fPIC -o "$EGS_SANDBOX_DIR/$cluster/run/sandbox/hang.so" \
		"$srcdir/t/lib/fake/hang.c" &&
	wait_nodes_after restart_daemon slurmctld env HANG=/run/sandbox/hang \
		LD_PRELOAD=/run/sandbox/hang.so slurmctld
}

check_hanging_conf()
{
	test_expect_success "$version: submissions do not wait while egs.conf hangs" '
		hanging_slurmctld &&
		as root sh -c "touch /run/sandbox/hang &&
			echo Team=other Users=carol Tiers=research \
				>>/etc/slurm/egs.conf" &&
		job=$(as alice timeout 60 sbatch --parsable -H --wrap true) &&
		as alice scancel "$job"
	'
	test_expect_success "$version: a changed egs.conf is read when it hangs no more" '
		as root rm /run/sandbox/hang &&
		wait_until 60 "the new team is known" forbidden_for_carol
	'
}

forbidden_for_carol()
{
	test_must_fail as carol sbatch -H --tier=prod --wrap true 2>err &&
	grep -q "team other may use research" err
}

# base_works: a job in partition serve preempts one of dave in scavenge
base_works()
{
	local weak strong

	weak=$(running dave -p scavenge -w n1 --requeue --gres=gpu:a100:4 \
		victim.sh) &&
	strong=$(submit --user=dave -p serve -w n1 --gres=gpu:a100:4 hold.sh) &&
	wait_state "$strong" RUNNING &&
	wait_until 60 "job $weak is requeued" restarted "$weak" &&
	cancel_jobs_of dave
}

# With egs.conf broken in some way: PreemptBase and the decisions stay.
check_bad_conf()
{
	allow_error "/etc/slurm/egs.conf"
	test_expect_success "$version: PreemptBase decides about jobs that are not managed" '
		cancel_all_jobs && base_works
	'
	test_expect_success "$version: a mistake in egs.conf leaves PreemptBase in force after a restart of slurmctld" '
		as root sh -c "cp /etc/slurm/egs.conf /etc/slurm/egs.good
			echo Teem=x >>/etc/slurm/egs.conf" &&
		restart_slurmctld && base_works
	'
	test_expect_success "$version: a missing egs.conf leaves PreemptBase in force after a restart of slurmctld" '
		as root rm /etc/slurm/egs.conf &&
		restart_slurmctld && base_works
	'
	test_expect_success "$version: a restart of slurmctld reads the corrected egs.conf" '
		as root mv /etc/slurm/egs.good /etc/slurm/egs.conf &&
		restart_slurmctld && base_works && has_decisions
	'
}

restarted()
{
	[ "$(restarts "$1")" -ge 1 ]
}

check_modes()
{
	cluster_up slurm="$version" nodes=2 gpus=4 \
		conf="$notes/slurm.conf" egs-conf="$notes/egs.conf"
	check_observe
	check_enforce
	check_switch
	check_exit_99
	check_table
	check_hanging_conf
	check_bad_conf
	test_expect_success "$version: all jobs end" cancel_all_jobs
	cluster_down
}

each_version check_modes
cluster_done
