#!/bin/bash
# 5000-tiers.t - slurmctld preempts by tiers, quotas and loans
# long: 280 s, a cluster of four nodes for each Slurm, and a stock one
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='tiers and quotas decide which jobs slurmctld preempts'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

# Slurm requeues jobs of the research tier at once.  Jobs of scavenge get a
# notice first, and egs-policyd requeues them.
cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,research,scavenge
PreemptBase=preempt/partition_prio
PollInterval=1s
StaleAfter=5s
GpuType=a100
Tier=prod Partitions=serve
Tier=research MinRuntime=1h GraceMin=0s GraceMax=0s
Tier=scavenge Partitions=scavenge Loan=always MinRuntime=0s \
	GraceMin=5s GraceMax=5s
Team=fraud Users=alice Quota=a100:8 DefaultTier=research
Team=vision Users=bob Quota=a100:8 DefaultTier=research
END

# A site may have used this before EGS: one partition preempts another.
cat >"$notes/slurm.conf" <<'END'
PartitionName=low Nodes=ALL PriorityTier=1 MaxTime=INFINITE
PartitionName=high Nodes=ALL PriorityTier=10 MaxTime=INFINITE
END
cat - "$notes/slurm.conf" >"$notes/stock.conf" <<'END'
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
END

# hold USER PARTITION GPUS: submit a job that runs until there is ~/go
hold()
{
	submit "--user=$1" "--partition=$2" "--gres=gpu:$3" hold.sh
}

# running USER PARTITION GPUS: the same, and wait until it runs
running()
{
	local job

	job=$(hold "$@") && wait_state "$job" RUNNING >&2 && echo "$job"
}

# ran JOB SECONDS: the job has run for SECONDS
ran()
{
	[ "$(date -d "1970-01-01 $(job_field "$1" RunTime) UTC" +%s)" -ge "$2" ]
}

requeued()
{
	[ "$(restarts "$1")" = 1 ]
}

# one_requeued JOB...: exactly one of them was requeued, once
one_requeued()
{
	restarts "$@" | tr ' ' '\n' | sort | paste -s -d ' ' |
		grep -qE '^(0 )*1$'
}

# expect_requeued JOB: the job is requeued, once
expect_requeued()
{
	wait_until 90 "job $1 is requeued" requeued "$1" || {
		as root squeue -l
		return 1
	}
}

site_factor()
{
	as root sprio -h -j "$1" -o %S | tr -d ' '
}

has_site_factor()
{
	site_factor "$1" | grep -q "^[1-9]"
}

tiers()
{
	test_expect_success "$version: prod preempts scavenge and no other tier" '
		unmanaged=$(running dave gpu 4) &&
		owned=$(running alice gpu 4) &&
		scav1=$(running alice scavenge 4) &&
		scav2=$(running alice scavenge 4) &&
		prod=$(hold bob serve 2) &&
		wait_state "$prod" RUNNING &&
		wait_until 60 "one of $scav1 and $scav2 is requeued" \
			one_requeued "$scav1" "$scav2" &&
		test "$(restarts "$unmanaged" "$owned")" = "0 0"
	'
	test_expect_success "$version: sprio shows a site factor and egs why the quota" '
		next=$(submit --user=bob --partition=serve --nodes=4 \
			--gres=gpu:4 hold.sh) &&
		wait_until 60 "$next has a site factor" has_site_factor "$next" &&
		wait_why bob "$prod" "within quota (vision"
	'
	test_expect_success "$version: the preempted job runs again and completes with one restart" '
		cancel_jobs_of bob &&
		wait_state "$scav1" RUNNING 200 &&
		wait_state "$scav2" RUNNING 200 &&
		as alice touch go &&
		wait_state "$scav1" COMPLETED && wait_state "$scav2" COMPLETED &&
		one_requeued "$scav1" "$scav2" &&
		as alice rm go
	'
	test_expect_success "$version: research jobs within MinRuntime are not preempted" '
		cancel_all_jobs &&
		owned1=$(running alice gpu 4) &&
		owned2=$(running alice gpu 4) &&
		other1=$(running dave gpu 4) &&
		other2=$(running dave gpu 4) &&
		prod=$(hold bob serve 2) &&
		expect_pending_after_scheduling "$prod" &&
		wait_why bob "$prod" "is protected" &&
		test "$(restarts "$owned1" "$owned2" "$other1" "$other2")" = \
			"0 0 0 0"
	'
}

quotas()
{
	test_expect_success "$version: a team runs on the idle quota of another, on loan" '
		cancel_all_jobs &&
		owned1=$(running alice gpu 4) &&
		owned2=$(running alice gpu 4) &&
		loan=$(running alice gpu 4) &&
		old_scav=$(running alice scavenge 2) &&
		wait_until 60 "$old_scav has run for a while" ran "$old_scav" 8 &&
		new_scav=$(running alice scavenge 2) &&
		wait_why alice "$owned2" "within quota (fraud" &&
		wait_why alice "$loan" "running on .* on loan ("
	'
	test_expect_success "$version: the owner's job preempts the scavenger that loses least" '
		owner1=$(hold bob gpu 2) &&
		wait_state "$owner1" RUNNING &&
		expect_requeued "$new_scav" &&
		test "$(restarts "$owned1" "$owned2" "$loan" "$old_scav")" = \
			"0 0 0 0"
	'
	# Hold the requeued job: without a claim it could start before the owner.
	test_expect_success "$version: the owner's next job preempts the other scavenger" '
		as root scontrol hold "$new_scav" &&
		owner2=$(hold bob gpu 2) &&
		wait_state "$owner2" RUNNING &&
		expect_requeued "$old_scav" &&
		test "$(restarts "$owned1" "$owned2" "$loan")" = "0 0 0"
	'
	test_expect_success "$version: the owner's last job preempts the loan, and the owner has its 8 GPUs" '
		as root scontrol hold "$old_scav" &&
		owner3=$(hold bob gpu 4) &&
		wait_state "$owner3" RUNNING &&
		expect_requeued "$loan" &&
		job_is "$owner1" RUNNING && job_is "$owner2" RUNNING &&
		test "$(restarts "$owned1" "$owned2")" = "0 0" &&
		test "$(restarts "$new_scav" "$old_scav" "$loan")" = "1 1 1"
	'
}

# The same two teams on stock Slurm.
stock_quotas()
{
	test_expect_success "stock: a job of the owner of the GPUs waits for the other team" '
		cancel_all_jobs &&
		held1=$(running alice gpu 4) &&
		held2=$(running alice gpu 4) &&
		held3=$(running alice gpu 4) &&
		held4=$(running alice gpu 4) &&
		owner=$(hold bob gpu 2) &&
		expect_pending_after_scheduling "$owner" &&
		test "$(restarts "$held1" "$held2" "$held3" "$held4")" = \
			"0 0 0 0" &&
		cancel_all_jobs
	'
}

observing()
{
	test_expect_success "$version: observe mode preempts nothing and sets no site factor" '
		cancel_all_jobs &&
		egsctl mode observe --reason=test &&
		scav1=$(running alice scavenge 4) &&
		scav2=$(running alice scavenge 4) &&
		scav3=$(running alice scavenge 4) &&
		scav4=$(running alice scavenge 4) &&
		prod=$(hold bob serve 2) &&
		wait_why bob "$prod" "must be preempted for it" &&
		expect_pending_after_scheduling "$prod" &&
		test "$(site_factor "$prod")" = 0 &&
		test "$(restarts "$scav1" "$scav2" "$scav3" "$scav4")" = \
			"0 0 0 0"
	'
	test_expect_success "$version: enforce mode preempts one job for the job that waited" '
		egsctl mode enforce --reason=test &&
		wait_state "$prod" RUNNING &&
		wait_until 60 "one job is requeued" \
			one_requeued "$scav1" "$scav2" "$scav3" "$scav4"
	'
}

daemon_killed()
{
	test_expect_success "$version: without egs-policyd no job is preempted" '
		cancel_jobs_of bob && cancel_all_jobs &&
		scav1=$(running alice scavenge 4) &&
		scav2=$(running alice scavenge 4) &&
		scav3=$(running alice scavenge 4) &&
		unmanaged=$(running dave gpu 4) &&
		stop_policyd KILL && wait_table_stale 5 &&
		prod=$(hold bob serve 2) &&
		expect_pending_after_scheduling "$prod" &&
		test "$(restarts "$scav1" "$scav2" "$scav3" "$unmanaged")" = \
			"0 0 0 0"
	'
	test_expect_success "$version: slurmctld starts and runs jobs without egs-policyd" '
		restart_slurmctld &&
		as root scancel "$unmanaged" &&
		wait_state "$prod" RUNNING &&
		test "$(restarts "$scav1" "$scav2" "$scav3")" = "0 0 0"
	'
	test_expect_success "$version: a restarted egs-policyd preempts again" '
		next=$(hold bob serve 4) &&
		policyd_up &&
		wait_state "$next" RUNNING &&
		wait_until 60 "one job is requeued" \
			one_requeued "$scav1" "$scav2" "$scav3"
	'
	test_expect_success "$version: egs-policyd preempts after a reconfigure of slurmctld" '
		wait_nodes_after as root scontrol reconfigure &&
		cancel_jobs_of bob && cancel_all_jobs &&
		scav1=$(running alice scavenge 4) &&
		scav2=$(running alice scavenge 4) &&
		scav3=$(running alice scavenge 4) &&
		scav4=$(running alice scavenge 4) &&
		prod=$(running bob serve 4) &&
		wait_until 60 "one job is requeued" \
			one_requeued "$scav1" "$scav2" "$scav3" "$scav4" &&
		cancel_all_jobs
	'
}

# Slurm's own preemption must not depend on the daemon.
without_daemon()
{
	test_expect_success "$version: the decision table of a killed egs-policyd gets stale" '
		stop_policyd KILL && wait_table_stale 5
	'
	jobs_of_no_team "$version without egs-policyd"
}

# jobs_of_no_team LABEL: on an EGS cluster or a stock one.
jobs_of_no_team()
{
	test_expect_success "$1: jobs of no team are preempted by PriorityTier" '
		cancel_all_jobs &&
		low1=$(running dave low 4) &&
		low2=$(running dave low 4) &&
		default_tier=$(running dave gpu 4) &&
		high1=$(running dave high 4) &&
		high2=$(running carol high 4) &&
		wait_until 60 "one job of low is requeued" \
			one_requeued "$low1" "$low2" "$default_tier" &&
		test "$(restarts "$high1" "$high2")" = "0 0" &&
		cancel_all_jobs
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=4 gpus=4 conf="$notes/slurm.conf" \
		egs-conf="$notes/egs.conf"
	tiers
	quotas
	observing
	daemon_killed
	jobs_of_no_team "$version"
	without_daemon
	cluster_down
}

each_version run_all
cluster_up stock nodes=4 gpus=4 conf="$notes/stock.conf"
jobs_of_no_team stock
stock_quotas
cluster_done
