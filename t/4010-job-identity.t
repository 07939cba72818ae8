#!/bin/bash
# 4010-job-identity.t - the identity of jobs over requeues, restarts and reused ids
# long: 120 s, a cluster for each Slurm with plugins, six runs of two jobs
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='a requeued job stays one job; a reused job id is a new job'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"

cat >egs.conf <<-'EOF'
TierOrder=prod,research
PollInterval=1s
Team=fraud Users=alice Quota=a100:2 DefaultTier=research
Team=vision Users=bob,carol Quota=a100:2 DefaultTier=research
EOF

knows()
{
	as root egsctl show jobs -nP -o "$1" >known && grep -qx "$2" known
}

wait_known()
{
	wait_until 60 "egs-policyd has $2" knows "$1" "$2" ||
		{ cat known; return 1; }
}

# runs_again JOB RESTARTS: shortens the two minutes that Slurm delays a requeue
runs_again()
{
	local eligible

	eligible=$(date -d "$(job_field "$1" EligibleTime)" +%s)
	[ "${eligible:-0}" -lt "$(($(date +%s) + 10))" ] ||
		as root scontrol update "jobid=$1" StartTime=now+2seconds
	test "$(job_field "$1" JobState) $(job_field "$1" Restarts)" = \
		"RUNNING $2"
}

requeue_both()
{
	for job in "$stamped" "$plain"; do
		as root scontrol requeue "$job" || return
	done
	for job in "$stamped" "$plain"; do
		wait_until 90 "$job runs again" runs_again "$job" "$1" &&
		wait_known jobid,restarts,state "$job|$1|RUNNING" || return
	done
}

end_ctld()
{
	local pid

	pid=$(as root cat /run/slurm/slurmctld.pid) &&
	as root kill "-$1" "$pid" &&
	wait_until 60 "slurmctld is gone" process_gone "$pid"
}

# restore_ctld: start slurmctld with the copy of its state.
restore_ctld()
{
	as root sh -c 'rm -rf /var/lib/slurm/* &&
		cp -a /srv/kept/. /var/lib/slurm' &&
	wait_nodes_after as root slurmctld
}

held_job()
{
	submit --gres=gpu:1 -H --wrap 'exec sleep 1000' "$@"
}

requeues()
{
	test_expect_success "$version: egs-policyd knows a job with a stamp and a job without" '
		stamped=$(submit --user=alice --tier=research --gres=gpu:1 \
			--wrap "exec sleep 1000") &&
		plain=$(submit --user=dave --gres=gpu:1 --requeue \
			--wrap "exec sleep 1000") &&
		wait_known jobid,tier,restarts,state "$stamped|research|0|RUNNING" &&
		wait_known jobid,tier,restarts,state "$plain|-|0|RUNNING"
	'
	test_expect_success "$version: five requeues and two restarts of egs-policyd leave each job one job" '
		as root egsctl update job=$stamped tier=prod --reason="release Friday" &&
		requeue_both 1 && requeue_both 2 &&
		stop_policyd KILL && policyd_up &&
		requeue_both 3 && requeue_both 4 &&
		stop_policyd TERM && policyd_up &&
		requeue_both 5 &&
		as root egsctl show jobs -nP -o jobid,user,tier,restarts | sort >known &&
		printf "%s\n" "$stamped|alice|prod|5" "$plain|dave|-|5" >want &&
		test_cmp want known &&
		as alice egs why $stamped >got &&
		grep "tier=prod by root: release Friday" got
	'
	test_expect_success "$version: the state file has five ended runs and one running for each job" '
		stop_policyd TERM &&
		run_sql "SELECT job_id, count(DISTINCT nonce), count(DISTINCT restarts),
			count(*), sum(end > 0) FROM run GROUP BY job_id" >got &&
		printf "%s\n" "$stamped|1|6|6|5" "$plain|1|6|6|5" >want &&
		test_cmp want got &&
		policyd_up
	'
}

reused_ids()
{
	test_expect_success "$version: egs-policyd closes a job that slurmctld has lost" '
		as root scancel $stamped $plain && wait_queue_empty &&
		end_ctld TERM &&
		as root cp -a /var/lib/slurm /srv/kept &&
		wait_nodes_after as root slurmctld &&
		lost=$(held_job --user=alice) &&
		wait_known jobid,user,tier "$lost|alice|research" &&
		as root egsctl update job=$lost tier=prod --reason="of the lost one" &&
		end_ctld KILL &&
		restore_ctld &&
		wait_policyd slurmctld up && wait_policyd jobs 0 &&
		test_must_fail as alice egs why $lost
	'
	test_expect_success "$version: a new job with the id of a lost job inherits nothing" '
		again=$(held_job --user=bob) &&
		test $again = $lost &&
		wait_known jobid,user,tier,restarts "$again|bob|research|0" &&
		as bob egs why $again >got &&
		! grep "of the lost one" got
	'
	test_expect_success "$version: a new job with a reused id inherits nothing, also after a restart of egs-policyd" '
		as root egsctl update job=$again tier=prod --reason="of the second" &&
		stop_policyd KILL &&
		end_ctld KILL &&
		restore_ctld &&
		third=$(held_job --user=carol) &&
		test $third = $lost &&
		policyd_up &&
		wait_known jobid,user,tier,restarts "$third|carol|research|0" &&
		as carol egs why $third >got &&
		! grep "of the second" got
	'
	test_expect_success "$version: the queue is empty at the end" '
		as root scancel $third &&
		wait_queue_empty && wait_policyd jobs 0
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=1 gpus=4 egs-conf="$PWD/egs.conf"
	# slurmctld is killed, and requests to it fail.
	allow_error 'slurm_receive_msg'
	requeues
	reused_ids
	cluster_down
}

each_version run_all
cluster_done
