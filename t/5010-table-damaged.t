#!/bin/bash
# 5010-table-damaged.t - jobs run with a damaged decision table, egs.conf or plugins
# long: 100 s, one cluster, restarted for each kind of damage; builds plugins
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='slurmctld starts and runs jobs whatever the decision table is'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

pick_version 24.11
other=build/$version-other
log=/var/log/slurmctld.log
table=/run/egs/table

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,scavenge
PollInterval=1s
Tier=scavenge Partitions=scavenge Loan=always MinRuntime=0s GraceMin=0s \
	GraceMax=0s
Team=fraud Users=alice Quota=a100:1 DefaultTier=prod
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

# plant_member DIR: the header with job records, with a member more in each
plant_member()
{
	local header=src/common/job_record.h

	[ -e "$(egs_src "$version")/$header" ] ||
		header=src/slurmctld/slurmctld.h
	mkdir -p "$1/${header%/*}" &&
	sed '/^struct job_record {/,/^}/s/^\tuint64_t bit_flags;/\tchar *planted;\n&/' \
		"$(egs_src "$version")/$header" >"$1/$header" &&
	grep -q planted "$1/$header"
}

# make_other_plugins: plugins for a Slurm with other job records, in $other.  The
# rest is as in the build of this release.
make_other_plugins()
(
	. "$srcdir/contrib/lib/common.sh"
	rm -rf "${srcdir:?}/$other" &&
	cp -a "$srcdir/build/$version" "$srcdir/$other" &&
	cd "$srcdir/$other" && rm -rf inst && plant_member planted || exit
	plugins=$(find plugins -name '*_*.so' ! -name 'spank*')
	find plugins -name '*.o' ! -path '*/spank/*' -delete
	# shellcheck disable=SC2086 # one word for each plugin
	rm $plugins && egs_in "$version" make -s $plugins \
		SLURM_SRC_CPPFLAGS="-isystem $PWD/planted \
		$(sed -n 's/^SLURM_SRC_CPPFLAGS = //p' Makefile)"
)

# use_other_plugins: Slurm's own directory of plugins stays the last.
use_other_plugins()
{
	local at=/srv/egs/$other/plugins

	inside "sed -i 's,^PluginDir=.*:,PluginDir=$at/select:$at/job_submit:$at/preempt:$at/site_factor:,' \
		/etc/slurm/slurm.conf" &&
	restart_slurmctld
}

# start_two: a job on loan runs, and one within the quota wants its GPU
start_two()
{
	weak=$(submit -p scavenge --gres=gpu:1 hold.sh) &&
	wait_state "$weak" RUNNING &&
	strong=$(submit -p serve --gres=gpu:1 hold.sh)
}

cancel_two()
{
	as root scancel "$weak" "$strong" && wait_queue_empty
}

cluster_up slurm="$version" nodes=1 gpus=1 egs-conf="$notes/egs.conf"
allow_error '(preempt|site_factor|select|job_submit)/(egs|cons_tres(_egs)?): '
allow_error '^error: egs: /etc/slurm/egs.conf:'
allow_error 'Node n1 appears to have a different slurm.conf'

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
	runs_with "/etc/slurm/egs.conf:7: .*Mode"
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

test_expect_success 'a job within its quota preempts a job on loan' '
	inside "cp /run/egs.conf /etc/slurm/egs.conf" &&
	policyd_up && restart_slurmctld &&
	start_two && wait_state "$strong" RUNNING &&
	job_field "$strong" AdminComment | grep "^egs:" &&
	cancel_two
'

test_expect_success 'plugins of a Slurm with other job records preempt no job and stamp none' '
	make_other_plugins &&
	from=$(($(inside "cat $log" | wc -l) + 1)) &&
	use_other_plugins &&
	start_two && expect_pending_after_scheduling "$strong" &&
	job_is "$weak" RUNNING &&
	test -z "$(job_field "$strong" AdminComment | tr -d "\n")" &&
	cancel_two
'

test_expect_success 'plugins of a Slurm with other job records say so once' '
	inside "sed -n \"$from,\\\$p\" $log" >said && cat said &&
	sed -n "s/^[^ ]* \(.* other job records than\).*/\1/p" said >sentences &&
	grep "error: select/" sentences && test -z "$(sort sentences | uniq -d)"
'

cluster_done
