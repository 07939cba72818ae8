#!/bin/bash
# 5025-claims.t - GPUs freed for one job are not given to another
# long: 110 s, a cluster for each Slurm, one restart of slurmctld in each
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='GPUs of preempted jobs are kept for their requester'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

# The daemon learns of jobs by the doorbell: it polls only every ten minutes.
# Jobs of spot are preempted at once, jobs of scavenge have a grace period.
cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,infer,research,scavenge,spot
PollInterval=10m
StaleAfter=20m
GpuType=a100
Tier=prod Partitions=serve MinRuntime=0s
Tier=research Partitions=gpu
Tier=infer Partitions=infer Nodes=n2 Spill=no
Tier=scavenge Partitions=scavenge,fast Loan=always MinRuntime=0s \
	GraceMin=10m GraceMax=10m GraceNoAck=10m
Tier=spot Partitions=spot Loan=always MinRuntime=0s GraceMin=0s GraceMax=0s
Phase=eval Nodes=n2 Spill=no
Phase=train Nodes=n2
Team=fraud Users=alice Quota=a100:6 DefaultTier=research
Team=vision Users=bob Quota=a100:6 DefaultTier=research
END

# Slurm tests jobs of fast before any other, whatever their tier, and would give
# them the free GPUs.
cat >"$notes/slurm.conf" <<'END'
PartitionName=spot Nodes=ALL MaxTime=INFINITE
PartitionName=infer Nodes=ALL MaxTime=INFINITE
PartitionName=fast Nodes=ALL MaxTime=INFINITE PriorityTier=10
END

# on_node NODE PARTITION GPUS: start a job of alice there
on_node()
{
	local job

	job=$(submit "--partition=$2" "--nodelist=$1" "--gres=gpu:a100:$3" hold.sh) &&
	wait_state "$job" RUNNING >&2 && echo "$job"
}

# sized PARTITION GPUS [OPTION]...: a job of alice; the daemon knows it before
# Slurm tests it.  anywhere: the same, and wait until it runs
sized()
{
	local job

	job=$(submit --hold "--partition=$1" "--gres=gpu:a100:$2" "${@:3}" \
		hold.sh) &&
	as root scontrol update "jobid=$job" comment=ring >&2 &&
	wait_why alice "$job" "waiting for a dependency" >&2 &&
	as root scontrol release "$job" >&2 && echo "$job"
}

anywhere()
{
	local job

	job=$(sized "$@") && wait_state "$job" RUNNING >&2 && echo "$job"
}

# small USER: a job with one GPU, which Slurm tests before the others
small()
{
	submit "--user=$1" --partition=fast --gres=gpu:a100:1 --time=60 hold.sh
}

# Six GPUs: one is free, a spot job has two, a scavenger three.
check_claims()
{
	test_expect_success "$version: egs-policyd knows new jobs by the doorbell, without a poll" '
		full=$(on_node n2 gpu 6) &&
		spot=$(on_node n1 spot 2) &&
		scavenger=$(on_node n1 scavenge 3) &&
		wait_why alice "$scavenger" "running on .* on loan ("
	'
	test_expect_success "$version: the spot job is preempted at once, the scavenger has a grace period" '
		prod=$(submit --user=bob --partition=serve --gres=gpu:a100:5 hold.sh) &&
		wait_until 60 "job $spot left" job_is "$spot" PENDING &&
		wait_until 60 "Slurm preempts job $scavenger" \
			is_being_preempted "$scavenger" &&
		job_is "$scavenger" RUNNING && job_is "$prod" PENDING
	'
	test_expect_success "$version: two of three free GPUs are kept for the claim" '
		small_first=$(small alice) &&
		wait_state "$small_first" RUNNING &&
		small_late=$(small alice) &&
		other=$(small bob) &&
		wait_scheduling_cycles 3 &&
		job_is "$small_late" PENDING && job_is "$other" PENDING &&
		job_is "$prod" PENDING
	'
	test_expect_success "$version: a claim survives a restart of slurmctld" '
		restart_slurmctld &&
		wait_scheduling_cycles 3 &&
		job_is "$small_late" PENDING && job_is "$other" PENDING &&
		job_is "$prod" PENDING
	'
	test_expect_success "$version: a claim survives a restart of egs-policyd and then of slurmctld" '
		stop_policyd KILL && policyd_up &&
		restart_slurmctld &&
		wait_scheduling_cycles 3 &&
		job_is "$small_late" PENDING && job_is "$other" PENDING &&
		job_is "$prod" PENDING
	'
	test_expect_success "$version: the job with the claim starts when its last victim ends" '
		as root scancel "$scavenger" &&
		wait_state "$prod" RUNNING &&
		job_is "$small_late" PENDING
	'
	test_expect_success "$version: a victim without a grace period is released at once" '
		wait_policyd_log "job $spot: release"
	'
}

# A claim ends when its job cannot start.
check_end_of_claim()
{
	test_expect_success "$version: a held job loses its claim" '
		cancel_all_jobs &&
		full=$(on_node n2 gpu 6) &&
		spot=$(on_node n1 spot 2) &&
		scavenger=$(on_node n1 scavenge 3) &&
		prod=$(submit --user=bob --partition=serve --gres=gpu:a100:5 hold.sh) &&
		wait_until 60 "Slurm preempts job $scavenger" \
			is_being_preempted "$scavenger" &&
		small_first=$(small alice) && wait_state "$small_first" RUNNING &&
		small_late=$(small alice) &&
		wait_scheduling_cycles 2 && job_is "$small_late" PENDING &&
		as root scontrol hold "$prod" &&
		wait_state "$small_late" RUNNING &&
		cancel_all_jobs
	'
}

# Two jobs need both nodes, and the nodes become free one by one.
check_gangs()
{
	test_expect_success "$version: two gang jobs wait for the same victims" '
		victim1=$(on_node n1 scavenge 6) &&
		victim2=$(on_node n2 scavenge 6) && full=$victim2 &&
		weak=$(submit --partition=gpu -N2 --gres=gpu:a100:4 hold.sh) &&
		wait_until 60 "Slurm preempts job $victim2" \
			is_being_preempted "$victim2" &&
		strong=$(submit --user=bob --partition=serve -N2 \
			--gres=gpu:a100:4 hold.sh) &&
		wait_why bob "$strong" "must be preempted for it" &&
		wait_scheduling_cycles 2 && job_is "$strong" PENDING
	'
	test_expect_success "$version: neither gang job starts when only one of two nodes is free" '
		as root scancel "$victim1" &&
		wait_scheduling_cycles 2 &&
		job_is "$weak" PENDING && job_is "$strong" PENDING
	'
	test_expect_success "$version: the gang job of the stronger tier starts when both nodes are free" '
		as root scancel "$victim2" &&
		wait_state "$strong" RUNNING &&
		job_is "$weak" PENDING &&
		cancel_all_jobs
	'
}

# Node choice, with two empty nodes.
check_nodes()
{
	test_expect_success "$version: a small job starts on a node in use" '
		one=$(on_node n2 gpu 1) && two=$(anywhere gpu 1) &&
		test "$(job_field "$two" NodeList)" = n2
	'
	test_expect_success "$version: a tier with Spill=no starts only on its own nodes" '
		home=$(anywhere infer 4) && away=$(sized infer 2) &&
		test "$(job_field "$home" NodeList)" = n2 &&
		expect_pending_after_scheduling "$away"
	'
	test_expect_success "$version: a phase with Spill=no starts elsewhere only with --nodelist" '
		cancel_all_jobs &&
		home=$(anywhere gpu 4 --phase=eval) &&
		away=$(sized gpu 4 --phase=eval) &&
		there=$(anywhere gpu 4 --phase=eval --nodelist=n1) &&
		test "$(job_field "$home" NodeList)" = n2 &&
		test "$(job_field "$there" NodeList)" = n1 &&
		expect_pending_after_scheduling "$away"
	'
	test_expect_success "$version: a phase that may spill fills its own nodes first" '
		cancel_all_jobs &&
		home=$(anywhere gpu 4 --phase=train) &&
		away=$(anywhere gpu 4 --phase=train) &&
		test "$(job_field "$home" NodeList)" = n2 &&
		test "$(job_field "$away" NodeList)" = n1
	'
	test_expect_success "$version: no job starts on a fenced node" '
		cancel_all_jobs &&
		egsctl update node=n2 fenced=yes --reason="fan failure" &&
		egsctl show nodes | grep "^n2 .*fenced" &&
		one=$(anywhere gpu 1) && two=$(sized gpu 6) &&
		test "$(job_field "$one" NodeList)" = n1 &&
		expect_pending_after_scheduling "$two"
	'
	test_expect_success "$version: a job starts when the fence is removed" '
		egsctl update node=n2 fenced=no --reason="fan replaced" &&
		wait_state "$two" RUNNING &&
		cancel_all_jobs
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=2 gpus=6 cores=12 \
		conf="$notes/slurm.conf" egs-conf="$notes/egs.conf"
	check_nodes
	check_claims
	check_end_of_claim
	check_gangs
	cluster_down
}

each_version run_all
cluster_done
