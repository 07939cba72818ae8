#!/bin/bash
# 6050-daemons-killed.t - a daemon dies at each stage of a preemption
# long: 120 s, a cluster for each Slurm, and three daemons that die eight times
# shellcheck disable=SC2016,SC2034,SC2119,SC2154 # sharness: bodies, test_description

test_description='whatever dies while a job is preempted, it goes and returns once'
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

# The job that goes takes its time, until there is ~/gone.
echo KillWait=30 >"$notes/slurm.conf"
goes="trap '' TERM; echo yields; /opt/egs/bin/egs yield --path=/ckpt/1
	until [ -e gone ]; do sleep 0.2; done; exit 0"

# A process that is killed may be in the middle of a sentence.
may_be_cut_short()
{
	allow_error '^error: slurm_receive_msg \[[0-9.:]*\]: Zero Bytes'
}

# says JOB WORDS: also while there is no slurmctld to ask for its file
says()
{
	as alice grep -qs "$2" "slurm-$1.out"
}

hears()
{
	wait_until 120 "job $1 says $2" says "$1" "$2"
}

# ---- daemons ----

# down DAEMON: it is killed; slurmctld once it has saved all it knows
down()
{
	case $1 in
	policyd) stop_policyd KILL ;;
	slurmctld) last_words && kill_daemon slurmctld ;;
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

words=0

last_words()
{
	words=$((words + 1)) &&
	as root scontrol update job "$victim" "comment=word-$words." &&
	wait_until 60 'slurmctld has saved its jobs' as root \
		grep -q "word-$words\\." /var/lib/slurm/job_state
}

kill_daemon()
{
	local pid

	pid=$(as root cat "/run/slurm/$1.pid") &&
	as root kill -KILL "$pid" &&
	wait_until 60 "$1 is gone" process_gone "$pid"
}

# ---- what happens while one is down ----

is_asked()
{
	taker=$(submit --user=bob --partition=serve --gres=gpu:a100:4 hold.sh)
}

# no_process JOB: its script has ended
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

# ---- once it is over ----

# once LINE: the job has printed it, and once
once()
{
	[ "$(output "$victim" | grep -c "$1")" = 1 ]
}

# one_row: the ledger has one request, with all of its times
one_row()
{
	as root /opt/egs/bin/egs-report preemptions -n -P -o \
		jobid,how,byjob,asked,saved,yielded,gone,restarted |
		grep "^$victim|" >"$notes/row" || return
	cat "$notes/row"
	awk -F'|' -v by="$taker" 'NR > 1 || $2 != "yielded" || $3 != by { exit 1 }
		{ for (i = 4; i <= NF; i++) if ($i == "" || $i == "-" || $i == 0) exit 1 }' \
		"$notes/row"
}

# begin CMD...: a job that runs CMD when it may leave
begin()
{
	as alice rm -f leave gone go && as bob rm -f go &&
	victim=$(submit --signal=B:USR1@60 --gres=gpu:a100:4 asked.sh "$@") &&
	wait_state "$victim" RUNNING && hears "$victim" "run 0"
}

# dies DAEMON: at each stage.  If slurmd comes back when nothing is left of a job
# that is going, slurmctld asks for it after KillWait and two MessageTimeouts
# (22.05 job_mgr.c:10054); if there is, at once.
dies()
{
	test_expect_success "$version: $1 dies, and a job is asked to go" '
		begin eval "$goes" &&
		if test "$daemon" = slurmctld; then
			is_asked
		else
			down "$daemon" && is_asked && up "$daemon"
		fi &&
		hears "$victim" asked &&
		wait_why alice "$victim" " asked .*job $taker of team vision"
	'
	test_expect_success "$version: $1 dies while it saves" '
		down "$daemon" && up "$daemon" && job_is "$victim" RUNNING
	'
	test_expect_success "$version: $1 dies, and it yields" '
		down "$daemon" && as alice touch leave &&
		hears "$victim" yields && up "$daemon" &&
		wait_until 90 "it goes" is_going
	'
	test_expect_success "$version: $1 dies, and it has gone" '
		down "$daemon" && as alice touch gone && script_ends "$victim" &&
		up "$daemon" && wait_state "$taker" RUNNING 300
	'
	test_expect_success "$version: $1 dies while it waits" '
		down "$daemon" && up "$daemon" && job_is "$taker" RUNNING &&
		job_is "$victim" PENDING && test "$(restarts "$victim")" = 1
	'
	test_expect_success "$version: $1 dies, and its GPUs are free again" '
		down "$daemon" && as bob touch go && script_ends "$taker" &&
		up "$daemon" && wait_state "$taker" COMPLETED &&
		hears "$victim" "run 1 resume=1 last=/ckpt/1"
	'
	test_expect_success "$version: $1 dies, and it runs to its end" '
		down "$daemon" && up "$daemon" && as alice touch go &&
		wait_state "$victim" COMPLETED &&
		test "$(restarts "$victim")" = 1 &&
		once "run 0" && once "run 1" && once asked && once yields &&
		wait_until 60 "the ledger has it" one_row
	'
}

# exits DAEMON: it is not there to hear of it
exits()
{
	test_expect_success "$version: $1 dies, and a job answers by its exit" '
		begin exit 0 && is_asked && hears "$victim" asked &&
		wait_why alice "$victim" " asked " &&
		down "$daemon" && as alice touch leave && script_ends "$victim" &&
		up "$daemon" && wait_state "$taker" RUNNING &&
		as bob touch go && wait_state "$taker" COMPLETED &&
		hears "$victim" "run 1 resume=1" && as alice touch go &&
		wait_state "$victim" COMPLETED &&
		test "$(restarts "$victim")" = 1 &&
		once "run 0" && once "run 1"
	'
}

is_let_back()
{
	[ "$(job_field "$victim" Reason)" != BeginTime ]
}

# Slurm acts for a while on what the daemon had decided.
unseen()
{
	test_expect_success "$version: there is no egs-policyd while a job goes" '
		as alice rm -f go && as bob rm -f go &&
		victim=$(submit --partition=scavenge --gres=gpu:a100:4 hold.sh) &&
		wait_state "$victim" RUNNING &&
		wait_why alice "$victim" "on loan" &&
		taker=$(submit --user=bob --hold --partition=serve \
			--gres=gpu:a100:4 hold.sh) &&
		wait_why bob "$taker" "waiting" &&
		stop_policyd KILL && as root scontrol release "$taker" &&
		wait_state "$taker" RUNNING && job_is "$victim" PENDING
	'
	test_expect_success "$version: the next one lets it back all the same" '
		policyd_up && wait_until 60 "it is let back" is_let_back &&
		as bob touch go && wait_state "$victim" RUNNING &&
		! job_field "$victim" AdminComment | grep departed &&
		as alice touch go && wait_state "$victim" COMPLETED &&
		test "$(restarts "$victim")" = 1
	'
}

on_each()
{
	cluster_up slurm="$version" nodes=1 gpus=4 conf="$notes/slurm.conf" \
		egs-conf="$notes/egs.conf"
	may_be_cut_short
	for daemon in policyd slurmctld slurmd; do
		dies "$daemon"
		exits "$daemon"
	done
	unseen
	cluster_down
}

each_version on_each
cluster_done
