#!/bin/bash
# 7010-resize-accounting.t - slurmdbd, job arrays and restarts of slurmctld
# long: 90 s, a cluster with slurmdbd for each Slurm with plugins
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='a live resize never waits for slurmdbd; accounting and arrays stay right'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/preempt.sh"
. "$srcdir/t/lib/sh/resize.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
LiveResize=yes
TierOrder=prod,research
GpuType=a100
Team=fraud Users=alice Quota=a100:4 DefaultTier=research
END
cat >"$notes/slurm.conf" <<'END'
PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE TRESBillingWeights="GRES/gpu=10"
END

hold()
{
	submit --gres=gpu:a100:4 --mem=400 "$@" hold.sh
}

is_later()
{
	[ "$(date +%s)" -gt "$1" ]
}

# slurmdbd tells the runs of a job apart by the second they begin
next_second()
{
	wait_until 60 "the next second" is_later "$(date +%s)"
}

# shrink JOB GPUS: the update that egs-policyd sends
shrink()
{
	next_second &&
	as root timeout 60 scontrol update JobId="$1" \
		AdminComment="egs:1;resize;gpus=$2"
}

answers()
{
	as root timeout 60 squeue -h -o %i >"$notes/queue"
}

dbd_signal()
{
	as root sh -c "kill -$1 \$(cat /run/slurm/slurmdbd.pid)"
}

slurmdbd_is_up()
{
	as root timeout 10 sacctmgr -n list cluster >/dev/null 2>&1
}

# is_recorded JOB: slurmctld knows the number of its record, because slurmdbd
# gets a new name
is_recorded()
{
	as root scontrol update JobId="$1" JobName="known$1" &&
	as root sacct -n -P -X -j "$1" -o jobname | grep -qx "known$1"
}

# records JOB: the runs of JOB in slurmdbd, the first one first:
# STATE GPUS START END
records()
{
	as root env SLURM_TIME_FORMAT=%s sacct -D -X -n -P -j "$1" \
		-o start,end,state,alloctres |
		sed -E 's/ by [0-9]+//; s/\|[^|]*gres\/gpu=([0-9]+).*/|\1/' |
		sort -n | awk -F'|' '{ print $3, $4, $1, $2 }'
}

# are_records JOB "STATE GPUS"...: those are the runs of JOB, and they have
# ended one after the other
are_records()
{
	records "$1" >"$notes/records" &&
	cut -d' ' -f1,2 "$notes/records" >"$notes/got" &&
	printf '%s\n' "${@:2}" | test_cmp - "$notes/got" >"$notes/diff" &&
	awk '$3 < end || $4 !~ /^[0-9]+$/ { exit 1 } { end = $4 }' \
		"$notes/records"
}

wait_records()
{
	wait_until 90 "the records of job $1 are right" are_records "$@" || {
		cat "$notes/records" "$notes/diff"
		return 1
	}
}

cancel()
{
	next_second && as root scancel "$1" &&
	wait_until 60 "$1 ends" has_ended "$1"
}

# billing JOB WEIGHT
billing()
{
	as root scontrol show job "$1" | grep -qE " (Alloc)?TRES=.*billing=$2,"
}

check_silent_dbd()
{
	test_expect_success "$version: slurmctld answers while a resize waits for slurmdbd" '
		job=$(once_running hold) &&
		wait_until 90 "job $job is recorded" is_recorded "$job" &&
		dbd_signal STOP && shrink "$job" 3 && answers &&
		test "$(gpus "$job")" = 0-2
	'
	[ "$version" != 22.05 ] ||
	test_expect_success "$version: a second resize is refused while slurmdbd is silent, and slurmctld answers" '
		test_must_fail shrink "$job" 2 && answers &&
		test "$(gpus "$job")" = 0-2
	'
	test_expect_success "$version: a resized job can be resized again when slurmdbd answers" '
		dbd_signal CONT && shrink "$job" 1 && cancel "$job" &&
		wait_records "$job" "RESIZING 4" "RESIZING 3" "CANCELLED 1"
	'
}

check_lost_dbd()
{
	test_expect_success "$version: a resized job can be updated while slurmdbd is down" '
		allow_error "slurmdbd|ersist|DBD_|Connection refused" &&
		job=$(once_running hold) &&
		wait_until 90 "job $job is recorded" is_recorded "$job" &&
		dbd_signal KILL && shrink "$job" 2 &&
		as root scontrol update JobId="$job" Comment=updated &&
		test "$(job_field "$job" Comment)" = updated
	'
	test_expect_success "$version: a job resized without slurmdbd can be resized when it is back" '
		as root slurmdbd &&
		wait_until 90 "slurmdbd answers" slurmdbd_is_up &&
		wait_until 90 "job $job has one GPU" shrink "$job" 1 &&
		cancel "$job" &&
		wait_records "$job" "RESIZING 4" "RESIZING 2" "CANCELLED 1"
	'
}

check_requeue()
{
	test_expect_success "$version: a resized and requeued job is billed for its submitted size" '
		job=$(once_running hold) && billing "$job" 40 &&
		shrink "$job" 1 && billing "$job" 10 &&
		next_second && as alice scontrol requeue "$job" &&
		wait_state "$job" PENDING && start_soon "$job" &&
		wait_state "$job" RUNNING && billing "$job" 40
	'
	test_expect_success "$version: a resized and requeued job is not charged for its wait" '
		start=$(job_field "$job" StartTime) &&
		start=$(date -d "$start" +%s) && cancel "$job" &&
		wait_records "$job" "RESIZING 4" "REQUEUED 1" "CANCELLED 4" &&
		test "$(awk "NR == 3 { print \$3 }" "$notes/records")" = "$start"
	'
}

# tasks_run ARRAY COUNT
tasks_run()
{
	test "$(as root squeue -h -r -t R -j "$1" -o %i | wc -l)" = "$2"
}

check_array()
{
	test_expect_success "$version: a resize must name one task of an array" '
		array=$(submit --array=0-1 --gres=gpu:a100:2 --mem=100 hold.sh) &&
		good=$(submit --dependency=afterok:"$array" --wrap=true) &&
		bad=$(submit --dependency=afternotok:"$array" --wrap=true) &&
		wait_until 90 "both tasks run" tasks_run "$array" 2 &&
		test_must_fail shrink "$array" 1 &&
		test "$(job_field "${array}_0" TresPerNode)" = \
			"$(job_field "${array}_1" TresPerNode)"
	'
	test_expect_success "$version: a resized task does not end its array" '
		shrink "${array}_0" 1 && shrink "${array}_1" 1 &&
		as alice touch go &&
		wait_state "$good" COMPLETED 120 &&
		test "$(job_field "$bad" Reason)" = DependencyNeverSatisfied &&
		as alice rm go && as root scancel "$bad"
	'
	test_expect_success "$version: a resize leaves the limit of running tasks" '
		array=$(submit --array=0-2%1 --gres=gpu:a100:2 --mem=100 hold.sh) &&
		wait_until 90 "one task runs" tasks_run "$array" 1 &&
		shrink "${array}_0" 1 && next=$(hold) &&
		expect_pending_after_scheduling "$next" &&
		tasks_run "$array" 1 && invariants_hold &&
		as root scancel "$array" "$next" && wait_queue_empty
	'
}

slurmd_signal()
{
	as root sh -c "kill -$1 \$(cat /run/slurm/slurmd-n1.pid)"
}

# begin_now JOB: as egs-policyd lets a requeued job start
begin_now()
{
	as root setpriv --reuid=slurm --regid=slurm --clear-groups -- \
		scontrol update JobId="$1" StartTime=now+1
}

is_known_requeued()
{
	as root /opt/egs/sbin/egsctl show jobs -nP -o jobid,state,restarts |
		grep -qx "$1|PENDING|1"
}

# slurmctld still takes the node for up: it asks the nodes after three seconds.
check_restart()
{
	test_expect_success "$version: a requeued job gets no node that is silent after a restart" '
		job=$(once_running hold) && as root scontrol requeue "$job" &&
		wait_state "$job" PENDING &&
		wait_until 60 "egs-policyd knows the requeue" is_known_requeued "$job" &&
		slurmd_signal STOP && restart_daemon slurmctld slurmctld &&
		wait_until 60 "slurmctld answers" answers &&
		begin_now "$job" && wait_scheduling_cycles 2 &&
		job_is "$job" PENDING
	'
	test_expect_success "$version: a requeued job starts when its node answers" '
		slurmd_signal CONT && wait_state "$job" RUNNING && cancel "$job"
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=1 gpus=4 dbd conf="$notes/slurm.conf" \
		egs-conf="$notes/egs.conf"
	check_silent_dbd
	check_lost_dbd
	check_requeue
	check_array
	check_restart
	cluster_down
}

each_version run_all
test_done
