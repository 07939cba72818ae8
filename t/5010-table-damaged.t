#!/bin/bash
# 5010-table-damaged.t - jobs run with a damaged decision table or egs.conf
# long: 60 s, one cluster, restarted for each kind of damage
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='slurmctld starts and runs jobs whatever the decision table is'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"

version=22.05
log=/var/log/slurmctld.log
table=/run/egs/table

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,scavenge
Tier=scavenge Partitions=scavenge
Team=fraud Users=alice DefaultTier=prod
END

# inside COMMANDS: run a line of shell as root
inside()
{
	as root sh -c "$1"
}

count_errors()
{
	inside "sed -n '$from,\$p' $log" | grep -cE "error: preempt/egs: $1"
}

logged_once()
{
	[ "$(count_errors "$1")" = 1 ]
}

# runs_with WORDS: restart slurmctld; a job completes, the log has one error with
# WORDS, and slurmctld is still up.
runs_with()
{
	local job

	from=$(($(inside "cat $log" | wc -l) + 1)) &&
	restart_slurmctld &&
	job=$(submit --gres=gpu:1 --wrap=true) &&
	wait_state "$job" COMPLETED &&
	wait_until 60 "the log says $1" logged_once "$1" &&
	as root scontrol ping | grep UP
}

cluster_up slurm=$version nodes=1 gpus=1 egs-conf="$notes/egs.conf"
allow_error '(preempt|site_factor|select|job_submit)/egs: '
allow_error '^error: egs: /etc/slurm/egs.conf:'

test_expect_success 'a job runs with the closed table of a stopped egs-policyd' '
	stop_policyd TERM &&
	job=$(submit --gres=gpu:1 --wrap=true) &&
	wait_state "$job" COMPLETED
'

test_expect_success 'a job runs without a decision table' '
	inside "mv $table /run/kept" &&
	runs_with "$table: No such file"
'

test_expect_success 'a job runs with a directory in place of the table' '
	inside "mkdir $table" &&
	runs_with "$table: not a decision table" &&
	inside "rmdir $table"
'

test_expect_success 'a job runs with a truncated table' '
	inside "head -c 100000 /run/kept >$table" &&
	runs_with "$table: not a decision table"
'

test_expect_success 'a job runs with random bytes in place of the table' '
	inside "head -c \$(stat -c %s /run/kept) /dev/urandom >$table" &&
	runs_with "$table: layout [0-9]+, this plugin reads"
'

test_expect_success 'a job runs with a table that others may write' '
	inside "cat /run/kept >$table && chmod 666 $table" &&
	runs_with "$table: writable by other users"
'

test_expect_success 'a job runs without the run directory' '
	inside "mv /run/egs /run/egs.away" &&
	runs_with "$table: No such file" &&
	inside "mv /run/egs.away /run/egs && rm $table"
'

test_expect_success 'a job runs with a broken egs.conf' '
	inside "cp /etc/slurm/egs.conf /run/egs.conf &&
		echo Mode=sometimes >>/etc/slurm/egs.conf" &&
	runs_with "/etc/slurm/egs.conf:5: .*Mode"
'

test_expect_success 'a job runs without egs.conf' '
	inside "rm /etc/slurm/egs.conf" &&
	runs_with "/etc/slurm/egs.conf cannot be read"
'

test_expect_success 'a job runs with PreemptBase=preempt/qos and no slurmdbd' '
	inside "sed 1iPreemptBase=preempt/qos /run/egs.conf \
		>/etc/slurm/egs.conf" &&
	inside "mv /run/kept $table" &&
	restart_slurmctld &&
	job=$(submit --gres=gpu:1 --wrap=true) &&
	wait_state "$job" COMPLETED
'

cluster_done
