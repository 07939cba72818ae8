#!/bin/bash
# 6050-daemons-killed.t - a daemon is killed at each stage of a preemption
# long: 120 s, a cluster for each Slurm, and three daemons that die eight times
# shellcheck disable=SC2016,SC2034,SC2119,SC2154 # sharness: bodies, test_description

test_description='a daemon is killed at each stage of a preemption'
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
	GraceMin=10m GraceMax=10m
Tier=scavenge Partitions=scavenge MinRuntime=0s GraceMin=1s GraceNoAck=1s
Team=fraud Users=alice Quota=none DefaultTier=research
Team=vision Users=bob Quota=a100:4 DefaultTier=prod
END

# The victim does not end before there is ~/gone.
echo KillWait=30 >"$notes/slurm.conf"
goes="trap '' TERM; echo yields; /opt/egs/bin/egs yield --path=/ckpt/1
	until [ -e gone ]; do sleep 0.2; done; exit 0"

# A killed process may be in the middle of a message.
may_be_cut_short()
{
	allow_error '^error: slurm_receive_msg \[[0-9.:]*\]: Zero Bytes'
}

# says JOB WORDS: the output of JOB has WORDS; works also without slurmctld
says()
{
	as alice grep -qs "$2" "slurm-$1.out"
}

wait_victim_output()
{
	wait_until 120 "job $1 says $2" says "$1" "$2"
}

# ---- daemons ----

# down DAEMON: kill it; slurmctld only after it has saved its state
down()
{
	case $1 in
	policyd) stop_policyd KILL ;;
	slurmctld) save_ctld_state && kill_daemon slurmctld ;;
	slurmd) kill_daemon slurmd-n1 ;;
	esac
}

up()
{
	case $1 in
	policyd) policyd_up ;;
	slurmctld) wait_nodes_after as root slurmctld ;;
	slurmd) wait_nodes_after as root slurmd -N n1 ;;
	esac
}

saves=0

# save_ctld_state: wait until slurmctld has saved a change made now
save_ctld_state()
{
	saves=$((saves + 1)) &&
	as root scontrol update job "$victim" "comment=save-$saves." &&
	wait_until 60 'slurmctld has saved its jobs' as root \
		grep -q "save-$saves\\." /var/lib/slurm/job_state
}

# From 26.05 slurmd writes its pid file after it has loaded its plugins.
has_pid()
{
	pid=$(as root cat "/run/slurm/$1.pid") && ! process_gone "$pid"
}

kill_daemon()
{
	local pid

	wait_until 60 "$1 has written its pid" has_pid "$1" &&
	as root kill -KILL "$pid" &&
	wait_until 60 "$1 is gone" process_gone "$pid"
}

# ---- what happens while one is down ----

submit_requester()
{
	requester=$(submit --user=bob --partition=serve --gres=gpu:a100:4 hold.sh)
}

# no_process JOB: the batch script of JOB has ended
no_process()
{
	! as root pgrep -f "slurmd/n1/job0*$1/slurm_script"
}

script_ends()
{
	wait_until 60 "the script of job $1 ends" no_process "$1"
}

is_going()
{
	job_is "$victim" COMPLETING && [ "$(restarts "$victim")" = 1 ]
}

# ---- at the end ----

# printed_once LINE: the victim has printed LINE exactly once
printed_once()
{
	[ "$(output "$victim" | grep -c "$1")" = 1 ]
}

# one_row: the report has one preemption of the victim, with all of its times
one_row()
{
	as root /opt/egs/bin/egs-report preemptions -n -P -o \
		jobid,how,byjob,asked,saved,yielded,gone,restarted |
		grep "^$victim|" >"$notes/row" || return
	cat "$notes/row"
	awk -F'|' -v by="$requester" 'NR > 1 || $2 != "yielded" || $3 != by { exit 1 }
		{ for (i = 4; i <= NF; i++) if ($i == "" || $i == "-" || $i == 0) exit 1 }' \
		"$notes/row"
}

# begin CMD...: start a victim that runs CMD when it may exit
begin()
{
	as alice rm -f leave gone go && as bob rm -f go &&
	victim=$(submit --signal=B:USR1@60 --gres=gpu:a100:4 asked.sh "$@") &&
	wait_state "$victim" RUNNING && wait_victim_output "$victim" "run 0"
}

# kill_at_each_stage DAEMON: if slurmd restarts after the last process of a
# completing job has ended, slurmctld asks for the job only after KillWait and
# two MessageTimeouts (22.05 job_mgr.c:10054), otherwise at once.
kill_at_each_stage()
{
	test_expect_success "$version: a job is preempted after $1 was killed" '
		begin eval "$goes" &&
		if test "$daemon" = slurmctld; then
			submit_requester
		else
			down "$daemon" && submit_requester && up "$daemon"
		fi &&
		wait_victim_output "$victim" asked &&
		wait_why alice "$victim" " asked .*job $requester of team vision"
	'
	test_expect_success "$version: the victim saves while $1 is killed" '
		down "$daemon" && up "$daemon" && job_is "$victim" RUNNING
	'
	test_expect_success "$version: the victim yields while $1 is down" '
		down "$daemon" && as alice touch leave &&
		wait_victim_output "$victim" yields && up "$daemon" &&
		wait_until 90 "job $victim is completing, to be requeued" \
			is_going
	'
	test_expect_success "$version: the victim ends while $1 is down" '
		down "$daemon" && as alice touch gone &&
		script_ends "$victim" &&
		up "$daemon" && wait_state "$requester" RUNNING 300
	'
	test_expect_success "$version: the victim waits while $1 is killed" '
		down "$daemon" && up "$daemon" && job_is "$requester" RUNNING &&
		job_is "$victim" PENDING && test "$(restarts "$victim")" = 1
	'
	test_expect_success "$version: the victim restarts after $1 was killed" '
		down "$daemon" && as bob touch go && script_ends "$requester" &&
		up "$daemon" && wait_state "$requester" COMPLETED &&
		wait_victim_output "$victim" "run 1 resume=1 last=/ckpt/1"
	'
	test_expect_success "$version: the victim completes with one restart after $1 was killed" '
		down "$daemon" && up "$daemon" && as alice touch go &&
		wait_state "$victim" COMPLETED &&
		test "$(restarts "$victim")" = 1 &&
		printed_once "run 0" && printed_once "run 1" &&
		printed_once asked && printed_once yields &&
		wait_until 60 "the report has the preemption" one_row
	'
}

# exit_while_down DAEMON: the victim exits while DAEMON is down
exit_while_down()
{
	test_expect_success "$version: a victim that exits while $1 is down is requeued once" '
		begin exit 0 && submit_requester &&
		wait_victim_output "$victim" asked &&
		wait_why alice "$victim" " asked " &&
		down "$daemon" && as alice touch leave &&
		script_ends "$victim" &&
		up "$daemon" && wait_state "$requester" RUNNING &&
		as bob touch go && wait_state "$requester" COMPLETED &&
		wait_victim_output "$victim" "run 1 resume=1" &&
		as alice touch go &&
		wait_state "$victim" COMPLETED &&
		test "$(restarts "$victim")" = 1 &&
		printed_once "run 0" && printed_once "run 1"
	'
}

may_start()
{
	[ "$(job_field "$victim" Reason)" != BeginTime ]
}

# Slurm applies the last decision table for a while after the daemon's end.
preempt_without_daemon()
{
	test_expect_success "$version: Slurm preempts a job while egs-policyd is down" '
		as alice rm -f go && as bob rm -f go &&
		victim=$(submit --partition=scavenge --gres=gpu:a100:4 hold.sh) &&
		wait_state "$victim" RUNNING &&
		wait_why alice "$victim" "running on .* on loan (" &&
		requester=$(submit --user=bob --hold --partition=serve \
			--gres=gpu:a100:4 hold.sh) &&
		wait_why bob "$requester" "waiting" &&
		stop_policyd KILL && as root scontrol release "$requester" &&
		wait_state "$requester" RUNNING && job_is "$victim" PENDING
	'
	test_expect_success "$version: a restarted egs-policyd lets the victim start" '
		policyd_up && wait_until 60 "job $victim may start" may_start &&
		as bob touch go && wait_state "$victim" RUNNING &&
		! job_field "$victim" AdminComment | grep departed &&
		as alice touch go && wait_state "$victim" COMPLETED &&
		test "$(restarts "$victim")" = 1
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=1 gpus=4 conf="$notes/slurm.conf" \
		egs-conf="$notes/egs.conf"
	may_be_cut_short
	for daemon in policyd slurmctld slurmd; do
		kill_at_each_stage "$daemon"
		exit_while_down "$daemon"
	done
	preempt_without_daemon
	cluster_down
}

each_version run_all
cluster_done
