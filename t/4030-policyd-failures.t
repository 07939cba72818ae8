#!/bin/bash
# 4030-policyd-failures.t - egs-policyd while disk, slurmctld or munged fail
# long: 110 s, one cluster, with waits for slurmctld
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='egs-policyd keeps running without disk, slurmctld or munged, and recovers'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"

cat >egs.conf <<-'EOF'
TierOrder=prod,research,scavenge
PollInterval=1s
Team=fraud Users=alice Quota=a100:4 DefaultTier=research
EOF
pick_version 24.11
cluster_up slurm="$version" nodes=1 gpus=4 egs-conf="$PWD/egs.conf"
here=$EGS_SANDBOX_DIR/$cluster
# slurmctld and munged are killed.
allow_error 'slurm_receive_msg'
allow_error '[Mm]unge|auth|credential|Protocol'

# refused SENTENCE VERB...: the daemon refuses VERB with SENTENCE
refused()
{
	test_expect_code 1 ask_policyd "${@:2}" >answer &&
	grep -E "error=.*$1" answer
}

# A small file system for the state: 1 MB.
small_state_dir()
{
	as root mount -t tmpfs -o size=1m,mode=700,uid=slurm,gid=slurm \
		state /var/lib/egs
}

fill_disk()
{
	test_must_fail as root dd if=/dev/zero of=/var/lib/egs/full \
		bs=4k 2>/dev/null
}

end_ctld()
{
	local pid

	pid=$(as root cat /run/slurm/slurmctld.pid) &&
	as root kill "$pid" &&
	wait_until 60 "slurmctld is gone" process_gone "$pid"
}

end_munged()
{
	as root pkill -x munged &&
	wait_until 60 "munged is gone" no_munged
}

no_munged()
{
	! as root pgrep -x munged >/dev/null
}

start_munged_again()
{
	as root sh -c "setpriv --reuid=munge --regid=munge --clear-groups -- \
		munged --foreground >>/var/log/munged.log 2>&1 &"
}

# Wait until its last poll is recent, by its own clock.
wait_poll()
{
	wait_until 60 "egs-policyd polls Slurm" polled_just_now
}

polled_just_now()
{
	ask_policyd ping | grep -qxE "poll_age_s=[0-3]"
}

test_expect_success 'egs-policyd has one running job' '
	job=$(submit --gres=gpu:1 --wrap "exec sleep 1000") &&
	wait_state $job RUNNING &&
	wait_policyd jobs 1
'
test_expect_success 'a second egs-policyd refuses to start, and the first continues' '
	mark_policyd_log &&
	launch_policyd &&
	wait_policyd_log "error: .*another egs-policyd is running" &&
	policyd_is jobs 1
'
# degraded WHY: a daemon that starts logs WHY, answers, and decides nothing
degraded()
{
	mark_policyd_log &&
	launch_policyd &&
	wait_policyd_log "error: $1; nothing is decided until it works" &&
	wait_policyd store fails && policyd_is jobs 0 &&
	policyd_is slurmctld "not asked yet" &&
	refused "StateDir=.* does not work" pause reason=now &&
	refused "StateDir=.* does not work" show what=intents &&
	refused "not polled Slurm yet" why "job=$job"
}

recovers()
{
	wait_policyd_log "StateDir=/var/lib/egs: works" &&
	wait_policyd slurmctld up &&
	policyd_is store up && policyd_is jobs 1
}

test_expect_success 'egs-policyd without write access to StateDir answers and decides nothing' '
	stop_policyd TERM &&
	as root chown root /var/lib/egs &&
	degraded "StateDir=/var/lib/egs: Permission denied"
'
test_expect_success 'a second egs-policyd refuses to start while StateDir fails' '
	launch_policyd &&
	wait_policyd_log "error: RunDir=.*another egs-policyd is running"
'
test_expect_success 'egs-policyd recovers by itself when StateDir is writable' '
	as root chown slurm /var/lib/egs &&
	recovers &&
	stop_policyd TERM
'
test_expect_success 'egs-policyd logs a full disk once and keeps running' '
	small_state_dir &&
	policyd_up &&
	mark_policyd_log &&
	fill_disk &&
	refused "store: .*full" pause reason=full &&
	refused "store: .*full" pause reason=still &&
	policyd_is store fails && policyd_is jobs 1 && policyd_is paused 0 &&
	policyd_logged >log &&
	test "$(grep -c "error: store: .*full" log)" = 1
'
test_expect_success 'egs-policyd recovers by itself when the disk has room' '
	as root rm /var/lib/egs/full &&
	wait_policyd store up &&
	wait_policyd_log "store: works again" &&
	ask_policyd pause reason=later &&
	policyd_is reason later
'
test_expect_success 'egs-policyd recovers from a read-only disk with its state' '
	stop_policyd TERM &&
	as root mount -o remount,ro /var/lib/egs &&
	degraded "StateDir=/var/lib/egs: Read-only file system" &&
	as root mount -o remount,rw /var/lib/egs &&
	recovers &&
	policyd_is reason later
'
test_expect_success 'egs-policyd recovers from a disk that is full at its start' '
	stop_policyd TERM &&
	fill_disk &&
	degraded ".*store: .*full" &&
	as root rm /var/lib/egs/full &&
	recovers &&
	policyd_is reason later
'
test_expect_success 'egs-policyd decides nothing while slurmctld is down' '
	mark_policyd_log &&
	end_ctld &&
	wait_policyd slurmctld "no answer" &&
	wait_policyd_log "warning: slurmctld: .*nothing is decided" &&
	policyd_is jobs 1 &&
	wait_nodes_after as root slurmctld &&
	wait_policyd slurmctld up &&
	wait_policyd_log "slurmctld: answers again, 1 jobs known"
'
test_expect_success 'an intent stays open while egs-policyd starts without slurmctld' '
	end_ctld &&
	stop_policyd TERM &&
	run_sql "INSERT INTO intent (at, nonce, job_id, restarts, action, reason)
		VALUES ($(date +%s), 4711, $job, 0, \"requeue\", \"a test\")" &&
	mark_policyd_log &&
	launch_policyd &&
	wait_policyd slurmctld "no answer" &&
	ask_policyd show what=intents >got &&
	grep "|$job|requeue|a test" got &&
	as alice egsctl show intents -nP >got &&
	test_must_be_empty got &&
	wait_nodes_after as root slurmctld &&
	wait_policyd slurmctld up &&
	wait_policyd_log "intent .*: Slurm shows it done" &&
	policyd_is jobs 1 && job_is $job RUNNING
'
test_expect_success 'egs-policyd answers on its socket while munged is down' '
	mark_policyd_log &&
	end_munged &&
	wait_policyd slurmctld "no answer" &&
	ask_policyd pause reason=munged &&
	start_munged_again &&
	wait_policyd slurmctld up &&
	policyd_is reason munged && policyd_is jobs 1
'
test_expect_success 'a clock that is set forward and back changes nothing' '
	stop_policyd KILL &&
	cc -shared -fPIC -o "$here/run/sandbox/clock.so" \
		"$srcdir/t/lib/fake/clock.c" &&
	policyd_up CLOCK=/run/sandbox/step LD_PRELOAD=/run/sandbox/clock.so &&
	for step in 100000 -100000 0; do
		echo $step >"$here/run/sandbox/step" &&
		wait_poll || return
	done &&
	policyd_is jobs 1 && policyd_is reason munged &&
	job_is $job RUNNING && test "$(job_field $job Restarts)" = 0
'
test_expect_success 'egs-policyd has no job after scancel' '
	as root scancel $job && wait_queue_empty &&
	wait_policyd jobs 0
'
cluster_done
