#!/bin/bash
# 4510-greedy-user.t - one user floods egs-policyd, others are served
# long: 110 s, one cluster, with an attack of 25 s and a pause of 20 s
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='egs-policyd serves other users, root and nodes while one user floods it'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"

cat >egs.conf <<-'EOC'
Mode=enforce
Port=6830
PollInterval=1s
StaleAfter=20s
TierOrder=prod,research
Team=fraud Users=alice,dave Quota=a100:4 DefaultTier=research
EOC
pick_version 22.05
cluster_up slurm="$version" nodes=2 gpus=2 egs-conf="$PWD/egs.conf"
check=/srv/egs/t/lib/check

# value FILE NAME: a value that watch-policyd has printed
value()
{
	sed -n "s/^$2=//p" "$1"
}

# grew NAME: its value in the attack minus its value at rest
grew()
{
	echo $(($(value hot "$1") - $(value rest "$1")))
}

# table_is_open 0|1: do the plugins believe the decision table?  See struct
# egs_table_file.
table_is_open()
{
	test "$(as root od -An -td4 -j40 -N4 /run/egs/table)" -eq "$1"
}

# How often the nodes have logged that they do not get an answer.
count_unanswered()
{
	cat "$EGS_SANDBOX_DIR/$cluster"/log/egs-noded-n[12].log |
		awk '/messages of jobs wait in the spool/ { n++ }
			END { print n + 0 }'
}

test_expect_success 'alice and dave have a running job each, on two nodes' '
	job=$(submit --user=dave --gres=gpu:1 -w n1 --wrap "exec sleep 1000") &&
	other=$(submit --gres=gpu:1 -w n2 --wrap "exec sleep 1000") &&
	wait_state $job RUNNING && wait_state $other RUNNING &&
	wait_policyd jobs 2
'
test_expect_success 'egs-policyd answers everybody at rest' '
	as root $check/watch-policyd --seconds=5 --user=alice \
		--port=6830 >rest && cat rest &&
	test "$(value rest user_failed)" = 0 &&
	test "$(value rest root_failed)" = 0 &&
	test "$(value rest tcp_failed)" = 0 &&
	mark_policyd_log &&
	count_unanswered >unanswered
'
test_expect_success 'dave attacks egs-policyd in every way at once' '
	as dave $check/hostile-user --seconds=25 --port=6830 --job=$job \
		--held=2000 --half=1500 >attacks &
	as root $check/watch-policyd --seconds=20 --user=alice \
		--port=6830 >hot && cat hot &&
	wait && cat attacks &&
	test $(($(value attacks unknown) + $(value attacks messages))) -gt 0 &&
	test "$(value attacks credentials)" -gt 0 &&
	test "$(value attacks half)" -gt 0 &&
	test "$(value attacks held)" -gt 0
'
test_expect_success 'all pings of alice are answered during the attack' '
	test "$(value hot user_pings)" -gt 5 &&
	test "$(value hot user_failed)" = 0
'
test_expect_success 'all pings of root over TCP are answered during the attack' '
	test "$(value hot root_pings)" -gt 5 &&
	test "$(value hot root_failed)" = 0
'
test_expect_success 'every node is answered during the attack' '
	count_unanswered >now &&
	test_cmp unanswered now
'
test_expect_success 'egs-policyd polls Slurm all the time during the attack' '
	test "$(value hot poll_gap_s)" -le 20 &&
	test_must_fail policyd_has_logged "no complete answer"
'
test_expect_success 'egs-policyd needs less than 64 MB more memory during the attack' '
	test "$(grew rss_kb)" -lt 65536
'
test_expect_success 'egs-policyd writes less than 10 MB during the attack' '
	test "$(grew store_kb)" -lt 10240
'
test_expect_success 'a message of alice is accepted after the attack' '
	wait_until 60 "egs saved is accepted" \
		as alice env SLURM_JOB_ID=$other egs saved
'
test_expect_success 'egs-policyd suspends its table when its worker hangs' '
	table_is_open 1 &&
	mark_policyd_log &&
	worker=$(as root sh -c "pgrep -o -P \$(pgrep -o -x egs-policyd)") &&
	as root kill -STOP $worker &&
	wait_policyd_log "slurmctld: no complete answer for" &&
	table_is_open 0 &&
	policyd_is slurmctld "no answer" &&
	as alice egsctl ping >ping && cat ping &&
	grep "slurmctld no answer, .*last poll of slurmctld [0-9]* s ago" ping
'
test_expect_success 'egs-policyd publishes its table when its worker continues' '
	as root kill -CONT $worker || test_must_fail as root kill -0 $worker &&
	wait_policyd slurmctld up &&
	wait_until 60 "the table is open" table_is_open 1
'
test_expect_success 'the jobs end' '
	as alice scancel $other && as dave scancel $job &&
	wait_queue_empty
'
cluster_done
