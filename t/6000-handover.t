#!/bin/bash
# 6000-handover.t - a preemption from the notice to the restart
# long: 130 s, a cluster for each Slurm
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='a victim gets a notice, saves, is requeued and restarts'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,research,scavenge
PollInterval=1s
GpuType=a100
Tier=prod Partitions=serve
Tier=research Partitions=gpu MinRuntime=0s MaxPreemptions=none \
	GraceMin=1s GraceMax=300s GraceNoAck=300s
Tier=scavenge Partitions=scavenge Loan=always MinRuntime=0s \
	MaxPreemptions=none GraceMin=1s GraceMax=3s
Team=fraud Users=alice Quota=none DefaultTier=scavenge
Team=vision Users=bob Quota=a100:4 DefaultTier=prod
END

# victim PARTITION CMD...: start a job of alice that runs CMD when it may exit
victim()
{
	local job

	as alice rm -f go leave &&
	job=$(submit --partition="$1" --signal=B:USR1@60 --gres=gpu:a100:4 \
		asked.sh "${@:2}") &&
	wait_state "$job" RUNNING >&2 &&
	wait_until 60 "job $job has begun" says "$job" 'run 0' >&2 &&
	echo "$job"
}

requester()
{
	submit --user=bob --partition=serve --gres=gpu:a100:4 hold.sh
}

says()
{
	output "$1" 2>/dev/null | grep -q "$2"
}

gets_signal()
{
	wait_until 90 "job $1 gets its signal" says "$1" asked
}

# is_requeued JOB: wait until the job has one restart
is_requeued()
{
	wait_until 90 "job $1 is requeued" has_restarted "$1"
}

has_restarted()
{
	[ "$(restarts "$1")" = 1 ]
}

# handed_over: the requester runs on the victim's GPUs and completes
handed_over()
{
	wait_state "$requester" RUNNING && as bob touch go &&
	wait_state "$requester" COMPLETED && as bob rm go
}

# restarts_once: the victim runs again under its id and completes
restarts_once()
{
	as alice rm -f leave &&
	wait_state "$victim" RUNNING &&
	wait_until 60 "job $victim runs again" \
		says "$victim" 'run 1 resume=1' &&
	as alice touch go &&
	wait_state "$victim" COMPLETED &&
	test "$(restarts "$victim")" = 1 &&
	says "$victim" 'run 0'
}

check_handover()
{
	test_expect_success "$version: a victim gets its own signal, and egs why names the requester" '
		victim=$(victim gpu exit 99) &&
		requester=$(requester) &&
		gets_signal "$victim" &&
		wait_why alice "$victim" "asked .*job $requester of team vision"
	'
	test_expect_success "$version: egsctl show preemptions lists the victim while it is asked" '
		as root egsctl show preemptions -nP \
			-o jobid,user,team,gpus,keeps,byjob,byteam,state >got &&
		echo "$victim|alice|fraud|4|0|$requester|vision|asked" >want &&
		test_cmp want got &&
		left=$(as alice egsctl show preemptions -nP -o left) &&
		test "$left" -gt 100 && test "$left" -le 300 &&
		as bob egsctl show preemptions >got 2>err && test_must_be_empty got &&
		grep "egsctl: no preemptions to show" err
	'
	test_expect_success "$version: egsctl show map shows what each may see of the victim" '
		as root egsctl show map -nP -o count,state,team,jobid,user,left >all &&
		as carol egsctl show map -nP -o count,state,team,jobid,user,left >other &&
		grep "^4|busy|fraud|$victim|alice|[0-9]" all &&
		grep "^4|busy|fraud|-|-|[0-9]" other &&
		! grep alice other
	'
	test_expect_success "$version: egsctl show waiting explains a job to its owner, and counts it for others" '
		as bob egsctl show waiting -nP -o jobid,team,jobs,gpus,why >own &&
		as carol egsctl show waiting -nP -o jobid,user,team,jobs,gpus,why >other &&
		grep "^$requester|vision|1|4|job $requester: " own &&
		grep "^-|-|vision|1|4|-$" other
	'
	test_expect_success "$version: a victim that exits with 99 hands over its GPUs" '
		as alice touch leave && handed_over
	'
	test_expect_success "$version: the victim restarts once, without a delay, and completes" '
		restarts_once
	'
	test_expect_success "$version: the restarted job prints why it was preempted" '
		says "$victim" "^egs: preempted at .* job $requester of team vision"
	'
	test_expect_success "$version: a victim that calls egs yield restarts with its checkpoint path" '
		victim=$(victim gpu eval \
			"/opt/egs/bin/egs yield --path=/ckpt/17; exec sleep 600") &&
		requester=$(requester) && gets_signal "$victim" &&
		as alice touch leave && handed_over && restarts_once &&
		says "$victim" "run 1 resume=1 last=/ckpt/17"
	'
	test_expect_success "$version: a victim that requeues itself restarts once" '
		victim=$(victim gpu eval "scontrol requeue \$SLURM_JOB_ID; exec sleep 600") &&
		requester=$(requester) && gets_signal "$victim" &&
		as alice touch leave && handed_over && restarts_once
	'
	test_expect_success "$version: the restarted job prints how soon it left, not how long it could take" '
		left=$(output "$victim" | sed -n \
			"s/^egs: .*; the job left \([0-9]*\) s after its notice/\1/p") &&
		test "$left" -ge 0 && test "$left" -lt 100
	'
	test_expect_success "$version: egsctl preempt requeues a job, and it restarts" '
		victim=$(victim gpu exit 0) &&
		egsctl pause --reason="NFS incident" &&
		test_must_fail egsctl preempt "$victim" --reason=maintenance 2>err &&
		grep "job $victim: EGS is paused (NFS incident); run .egsctl unpause. first" err &&
		egsctl unpause &&
		egsctl preempt "$victim" --reason=maintenance &&
		gets_signal "$victim" && as alice touch leave &&
		is_requeued "$victim" && restarts_once &&
		says "$victim" "^egs: preempted at .*: maintenance;"
	'
	test_expect_success "$version: a job that an operator preempts runs again before weaker jobs" '
		as bob rm -f go leave && as alice rm -f go leave &&
		strong=$(submit --user=bob --partition=serve --signal=B:USR1@60 \
			--gres=gpu:a100:4 asked.sh exit 99) &&
		wait_state "$strong" RUNNING &&
		wait_until 60 "job $strong has begun" says "$strong" "run 0" &&
		weak=$(submit --partition=scavenge --gres=gpu:a100:2 hold.sh) &&
		weaker=$(submit --partition=scavenge --gres=gpu:a100:2 hold.sh) &&
		expect_pending_after_scheduling "$weak" &&
		expect_pending_after_scheduling "$weaker" &&
		egsctl preempt "$strong" --reason=maintenance &&
		gets_signal "$strong" && as bob touch leave &&
		is_requeued "$strong" && wait_state "$strong" RUNNING &&
		test "$(restarts "$weak" "$weaker")" = "0 0" &&
		job_is "$weak" PENDING && job_is "$weaker" PENDING &&
		as bob rm leave && as bob touch go &&
		wait_state "$strong" COMPLETED && as bob rm go &&
		wait_state "$weak" RUNNING && wait_state "$weaker" RUNNING &&
		as root scancel "$weak" "$weaker"
	'
	test_expect_success "$version: a victim that never answers is requeued at the deadline" '
		victim=$(victim scavenge false) &&
		requester=$(requester) && gets_signal "$victim" &&
		handed_over && wait_why alice "$victim" " late " &&
		restarts_once
	'
}

# is_held JOB REASON
is_held()
{
	[ "$(job_field "$1" JobState) $(job_field "$1" Reason)" = "PENDING $2" ]
}

# known JOB...: wait until egs-policyd knows the jobs
known()
{
	local job

	for job; do
		wait_until 60 "egs-policyd knows job $job" \
			knows "$job" >&2 || return 1
	done
}

knows()
{
	as root egsctl show jobs -nP -o jobid | grep -qxF "$1"
}

# tasks_in_state ARRAY STATE: ids of its records, as squeue writes them
tasks_in_state()
{
	as root squeue -h -j "$1" -t "$2" -o %i | sort
}

# counts_tasks ARRAY STATE NUMBER
counts_tasks()
{
	[ "$(tasks_in_state "$1" "$2" | wc -l)" = "$3" ]
}

is_gone()
{
	[ -z "$(as root squeue -h -j "$1" 2>/dev/null)" ]
}

# answers KEY JOB [STEP]: abort JOB on a terminal, and press KEY and Enter
answers()
{
	"$srcdir/t/lib/check/in-terminal" 100x24 "see=$2 .*cancelled" \
		"see=abort these jobs" key="$1"$'\n' "${@:3}" -- \
		"$srcdir/contrib/sandbox" exec "$cluster" --user=alice -- \
		/opt/egs/sbin/egsctl abort job="$2" --checkpoint=skip \
		--reason=x >"$notes/terminal" 2>&1
	cat "$notes/terminal"
}

# lists_jobs FILE JOB OPTION...: the rows of FILE would be aborted with JOB
lists_jobs()
{
	as alice egsctl abort job="$2" --dry-run -nP "${@:3}" >got && test_cmp "$1" got
}

# is_told USER VERB JOB TEXT: egs-policyd refuses VERB with TEXT.  It learns of a
# start or a hold a moment after Slurm shows it.
is_told()
{
	! as "$1" egsctl "$2" job="$3" --reason=mine 2>err && grep "job $3 $4" err
}

check_abort()
{
	test_expect_success "$version: egsctl abort lists jobs and their dependents, and does nothing with --dry-run" '
		victim=$(victim gpu eval "/opt/egs/bin/egs yield; exec sleep 600") &&
		next=$(submit --dependency=afterok:"$victim" --partition=gpu \
			--gres=gpu:a100:1 hold.sh) &&
		last=$(submit --dependency=afterok:"$next" --partition=gpu hold.sh) &&
		tidy=$(submit --dependency=afterany:"$victim" --partition=gpu \
			--gres=gpu:a100:1 hold.sh) &&
		known "$victim" "$next" "$last" "$tidy" &&
		cat >want <<-END &&
		$victim|alice|fraud|running|4|asked to checkpoint within 300 s, then cancelled
		$next|alice|fraud|pending|1|cancelled: it depends on job $victim
		$last|alice|fraud|pending|0|cancelled: it depends on job $next
		END
		wait_until 60 "egs-policyd lists the jobs" lists_jobs want "$victim" &&
		head -1 want >one && lists_jobs one "$victim" --dependents=keep &&
		job_is "$victim" RUNNING && ! says "$victim" asked
	'
	test_expect_success "$version: another user cannot abort, hold or release a job, nor its workload" '
		for verb in abort hold release; do
			test_must_fail as bob egsctl $verb job="$victim" --reason=mine 2>err &&
			grep "job $victim is not yours" err || return 1
		done &&
		test_must_fail as bob egsctl abort workload=score --reason=mine 2>err &&
		grep "workload score has no job for that, or none that is yours" err &&
		test_must_fail as bob egsctl abort job=999999 --reason=mine 2>err &&
		grep "job 999999 is not known" err &&
		job_is "$victim" RUNNING
	'
	test_expect_success "$version: an abort with a bad option is refused" '
		test_must_fail as alice egsctl abort job="$victim" --checkpoint=maybe --reason=x 2>err &&
		grep "checkpoint=.maybe. is unknown; use try or skip" err &&
		test_must_fail as alice egsctl hold job="$victim" --requeue=hold --reason=x 2>err &&
		grep "hold has no option .requeue." err &&
		test_must_fail as alice egsctl abort job=1x --reason=x 2>err &&
		grep "is not a job id" err &&
		test_must_fail as alice egsctl abort job=1 workload=score --reason=x 2>err &&
		grep "use either job= or workload=" err
	'
	test_expect_success "$version: an aborted job checkpoints and is cancelled, although egs-policyd is killed meanwhile" '
		as alice egsctl abort job="$victim" --reason="wrong labels" &&
		wait_why alice "$victim" "wrong labels" &&
		gets_signal "$victim" &&
		stop_policyd KILL && policyd_up &&
		as alice touch leave &&
		wait_state "$victim" CANCELLED && test "$(restarts "$victim")" = 0 &&
		as alice rm leave
	'
	test_expect_success "$version: afterok dependents of an aborted job are cancelled, and afterany runs" '
		wait_state "$next" CANCELLED && wait_state "$last" CANCELLED &&
		wait_state "$tidy" RUNNING &&
		as alice touch go && wait_state "$tidy" COMPLETED && as alice rm go
	'
	test_expect_success "$version: a job aborted with --requeue=hold is held with its checkpoint until it is released" '
		victim=$(victim gpu exit 99) &&
		known "$victim" &&
		as alice egsctl abort job="$victim" --requeue=hold --reason="new labels" &&
		gets_signal "$victim" && as alice touch leave &&
		is_requeued "$victim" &&
		wait_until 60 "job $victim is held" is_held "$victim" JobHeldUser &&
		wait_until 60 "alice releases job $victim" as alice \
			egsctl release job="$victim" --reason="labels are right" &&
		restarts_once
	'
	test_expect_success "$version: the owner cannot release a job that an operator holds" '
		as alice rm -f go leave &&
		first=$(submit --partition=gpu --gres=gpu:a100:4 hold.sh) &&
		wait_state "$first" RUNNING &&
		job=$(submit --partition=gpu --workload=score --gres=gpu:a100:4 hold.sh) &&
		known "$job" &&
		wait_until 60 "egs-policyd knows that job $first runs" is_told root hold \
			"$first" "runs; .egsctl abort. with --requeue=hold ends its run" &&
		egsctl hold workload=score --reason=audit &&
		wait_until 60 "job $job is held" is_held "$job" JobHeldAdmin &&
		wait_why alice "$job" audit &&
		wait_until 60 "egs-policyd knows the hold" \
			is_told alice hold "$job" "is held already" &&
		test_must_fail as alice egsctl release job="$job" --reason=mine 2>err &&
		grep "job $job is held by an operator, who alone may release it" err &&
		egsctl release job="$job" --reason=done &&
		as root scancel "$first" && wait_state "$job" RUNNING
	'
	test_expect_success "$version: an abort of a stage leaves other stages alone, and --checkpoint=skip ends at once" '
		test_must_fail egsctl abort workload=score/eval --reason=x --checkpoint=skip 2>err &&
		grep "workload score/eval has no job" err &&
		egsctl abort workload=score --reason=x --checkpoint=skip &&
		wait_state "$job" CANCELLED
	'
	test_expect_success "$version: an aborted array ends with all its tasks" '
		job=$(submit --array=0-5 --partition=gpu --gres=gpu:a100:2 hold.sh) &&
		wait_until 60 "two tasks run" counts_tasks "$job" R 2 &&
		known "$job" "${job}_0" "${job}_1" &&
		test_must_fail as alice egsctl abort job="${job}_4" --reason=x 2>err &&
		grep "task 4 of job .* has not started; name the array" err &&
		as alice egsctl hold job="$job" --reason=x &&
		wait_until 60 "the other tasks are held" is_held "${job}_3" JobHeldUser &&
		counts_tasks "$job" R 2 &&
		as alice egsctl abort job="$job" --checkpoint=skip --reason=x &&
		wait_until 90 "array $job is gone" is_gone "$job"
	'
	test_expect_success "$version: an aborted het job ends as a whole" '
		job=$(submit --partition=gpu --gres=gpu:a100:1 : --partition=gpu \
			--gres=gpu:a100:1 hold.sh) &&
		known "$job" "$((job + 1))" &&
		as alice egsctl abort job="$((job + 1))" --reason=x -nP -o jobid >got &&
		echo "$job" >want && test_cmp want got &&
		wait_until 90 "het job $job is gone" is_gone "$job" &&
		wait_until 60 "its other component is gone" is_gone "$((job + 1))"
	'
	test_expect_success "$version: an abort is refused while EGS is paused, and --dry-run is not" '
		job=$(submit --partition=gpu --gres=gpu:a100:1 hold.sh) &&
		wait_state "$job" RUNNING && known "$job" &&
		egsctl pause --reason="NFS incident" &&
		test_must_fail as alice egsctl abort job="$job" --reason=x 2>err &&
		grep "EGS is paused (NFS incident); use scancel or scontrol" err &&
		as alice egsctl abort job="$job" --dry-run &&
		egsctl unpause
	'
	test_expect_success "$version: on a terminal egsctl abort lists the jobs and asks" '
		answers n "$job" "see=egsctl: nothing is done" &&
		grep "^exit 1" "$notes/terminal" && job_is "$job" RUNNING &&
		answers y "$job" && grep "^exit 0" "$notes/terminal" &&
		wait_state "$job" CANCELLED && wait_queue_empty
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=1 gpus=4 egs-conf="$notes/egs.conf"
	check_handover
	check_abort
	cluster_down
}

each_version run_all
cluster_done
