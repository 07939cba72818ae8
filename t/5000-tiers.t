#!/bin/bash
# 5000-tiers.t - tiers, quotas and loans decide inside slurmctld
# long: 280 s, a cluster of four nodes for each Slurm, and a stock one
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='the stronger take from the weaker, owners get back their own'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

# Jobs of the research tier are requeued by Slurm at once, those of scavenge
# are asked first, and requeued by the daemon.
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

# What a site may have had before: a partition that takes from another.
cat >"$notes/slurm.conf" <<'END'
PartitionName=low Nodes=ALL PriorityTier=1 MaxTime=INFINITE
PartitionName=high Nodes=ALL PriorityTier=10 MaxTime=INFINITE
END
cat - "$notes/slurm.conf" >"$notes/stock.conf" <<'END'
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
END

# hold USER PARTITION GPUS: a job that runs until its user says go
hold()
{
	submit "--user=$1" "--partition=$2" "--gres=gpu:$3" hold.sh
}

# running USER PARTITION GPUS: the same, and it runs
running()
{
	local job

	job=$(hold "$@") && wait_state "$job" RUNNING >&2 && echo "$job"
}

# ran JOB SECONDS: it has run for that long
ran()
{
	[ "$(date -d "1970-01-01 $(job_field "$1" RunTime) UTC" +%s)" -ge "$2" ]
}

requeued()
{
	[ "$(restarts "$1")" = 1 ]
}

# one_requeued JOB...: exactly one of them was
one_requeued()
{
	restarts "$@" | tr ' ' '\n' | sort | paste -s -d ' ' |
		grep -qE '^(0 )*1$'
}

# yields JOB: it is requeued, once
yields()
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
	test_expect_success "$version: prod takes from scavenge, and from nobody else" '
		free=$(running dave gpu 4) &&
		safe=$(running alice gpu 4) &&
		one=$(running alice scavenge 4) &&
		two=$(running alice scavenge 4) &&
		prod=$(hold bob serve 2) &&
		wait_state "$prod" RUNNING &&
		wait_until 60 "one of $one and $two is requeued" \
			one_requeued "$one" "$two" &&
		test "$(restarts "$free" "$safe")" = "0 0"
	'
	test_expect_success "$version: sprio and egs why show where it stands" '
		next=$(submit --user=bob --partition=serve --nodes=4 \
			--gres=gpu:4 hold.sh) &&
		wait_until 60 "$next has a site factor" has_site_factor "$next" &&
		wait_why bob "$prod" "within quota (vision"
	'
	test_expect_success "$version: the victim runs again, and ends once" '
		cancel_jobs_of bob &&
		wait_state "$one" RUNNING 200 && wait_state "$two" RUNNING 200 &&
		as alice touch go &&
		wait_state "$one" COMPLETED && wait_state "$two" COMPLETED &&
		one_requeued "$one" "$two" &&
		as alice rm go
	'
	test_expect_success "$version: research inside MinRuntime is not taken" '
		cancel_all_jobs &&
		one=$(running alice gpu 4) &&
		two=$(running alice gpu 4) &&
		free=$(running dave gpu 4) &&
		more=$(running dave gpu 4) &&
		prod=$(hold bob serve 2) &&
		expect_pending_after_scheduling "$prod" &&
		wait_why bob "$prod" "is protected" &&
		test "$(restarts "$one" "$two" "$free" "$more")" = "0 0 0 0"
	'
}

quotas()
{
	test_expect_success "$version: a team borrows what the other leaves idle" '
		cancel_all_jobs &&
		one=$(running alice gpu 4) &&
		two=$(running alice gpu 4) &&
		loan=$(running alice gpu 4) &&
		old=$(running alice scavenge 2) &&
		wait_until 60 "$old has run for a while" ran "$old" 8 &&
		new=$(running alice scavenge 2) &&
		wait_why alice "$two" "within quota (fraud" &&
		wait_why alice "$loan" "on loan"
	'
	test_expect_success "$version: the owner is back: who loses least goes first" '
		back=$(hold bob gpu 2) &&
		wait_state "$back" RUNNING &&
		yields "$new" &&
		test "$(restarts "$one" "$two" "$loan" "$old")" = "0 0 0 0"
	'
	# Who went may be quicker than the owner where nobody has a claim.
	test_expect_success "$version: then the rest of the weakest tier" '
		as root scontrol hold "$new" &&
		more=$(hold bob gpu 2) &&
		wait_state "$more" RUNNING &&
		yields "$old" &&
		test "$(restarts "$one" "$two" "$loan")" = "0 0 0"
	'
	test_expect_success "$version: then the last loan, and the owner has its 8" '
		as root scontrol hold "$old" &&
		most=$(hold bob gpu 4) &&
		wait_state "$most" RUNNING &&
		yields "$loan" &&
		job_is "$back" RUNNING && job_is "$more" RUNNING &&
		test "$(restarts "$one" "$two")" = "0 0" &&
		test "$(restarts "$new" "$old" "$loan")" = "1 1 1"
	'
}

# The same two teams without EGS.
stock_quotas()
{
	test_expect_success "stock: the owner waits for what the other has taken" '
		cancel_all_jobs &&
		one=$(running alice gpu 4) &&
		two=$(running alice gpu 4) &&
		loan=$(running alice gpu 4) &&
		more=$(running alice gpu 4) &&
		back=$(hold bob gpu 2) &&
		expect_pending_after_scheduling "$back" &&
		test "$(restarts "$one" "$two" "$loan" "$more")" = "0 0 0 0" &&
		cancel_all_jobs
	'
}

observing()
{
	test_expect_success "$version: nothing happens where EGS only observes" '
		cancel_all_jobs &&
		egsctl mode observe --reason=test &&
		one=$(running alice scavenge 4) &&
		two=$(running alice scavenge 4) &&
		three=$(running alice scavenge 4) &&
		four=$(running alice scavenge 4) &&
		prod=$(hold bob serve 2) &&
		wait_why bob "$prod" "must be preempted for it" &&
		expect_pending_after_scheduling "$prod" &&
		test "$(site_factor "$prod")" = 0 &&
		test "$(restarts "$one" "$two" "$three" "$four")" = "0 0 0 0"
	'
	test_expect_success "$version: the same jobs, once it may" '
		egsctl mode enforce --reason=test &&
		wait_state "$prod" RUNNING &&
		wait_until 60 "one is requeued" \
			one_requeued "$one" "$two" "$three" "$four"
	'
}

daemon_away()
{
	test_expect_success "$version: without the daemon nobody is taken from" '
		cancel_jobs_of bob && cancel_all_jobs &&
		one=$(running alice scavenge 4) &&
		two=$(running alice scavenge 4) &&
		three=$(running alice scavenge 4) &&
		free=$(running dave gpu 4) &&
		stop_policyd KILL && wait_table_stale 5 &&
		prod=$(hold bob serve 2) &&
		expect_pending_after_scheduling "$prod" &&
		test "$(restarts "$one" "$two" "$three" "$free")" = "0 0 0 0"
	'
	test_expect_success "$version: slurmctld starts without it, and jobs run" '
		restart_slurmctld &&
		as root scancel "$free" &&
		wait_state "$prod" RUNNING &&
		test "$(restarts "$one" "$two" "$three")" = "0 0 0"
	'
	test_expect_success "$version: it is back, and decides again" '
		next=$(hold bob serve 4) &&
		policyd_up &&
		wait_state "$next" RUNNING &&
		wait_until 60 "one is requeued" \
			one_requeued "$one" "$two" "$three"
	'
	test_expect_success "$version: and after a reconfigure" '
		wait_nodes_after as root scontrol reconfigure &&
		cancel_jobs_of bob && cancel_all_jobs &&
		one=$(running alice scavenge 4) &&
		two=$(running alice scavenge 4) &&
		three=$(running alice scavenge 4) &&
		four=$(running alice scavenge 4) &&
		prod=$(running bob serve 4) &&
		wait_until 60 "one is requeued" \
			one_requeued "$one" "$two" "$three" "$four" &&
		cancel_all_jobs
	'
}

# A site that preempted before has the same whether the daemon lives or not.
without_daemon()
{
	test_expect_success "$version: the daemon dies, and its table is old" '
		stop_policyd KILL && wait_table_stale 5
	'
	strangers "$version without the daemon"
}

# Jobs of no team, on this cluster or a stock one.
strangers()
{
	test_expect_success "$1: jobs of no team follow PriorityTier" '
		cancel_all_jobs &&
		one=$(running dave low 4) &&
		two=$(running dave low 4) &&
		three=$(running dave gpu 4) &&
		four=$(running dave high 4) &&
		strong=$(running carol high 4) &&
		wait_until 60 "one of low is requeued" \
			one_requeued "$one" "$two" "$three" &&
		test "$(restarts "$four" "$strong")" = "0 0" &&
		cancel_all_jobs
	'
}

all()
{
	cluster_up slurm="$version" nodes=4 gpus=4 conf="$notes/slurm.conf" \
		egs-conf="$notes/egs.conf"
	tiers
	quotas
	observing
	daemon_away
	strangers "$version"
	without_daemon
	cluster_down
}

each_version all
cluster_up stock nodes=4 gpus=4 conf="$notes/stock.conf"
strangers stock
stock_quotas
cluster_done
