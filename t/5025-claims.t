#!/bin/bash
# 5025-claims.t - what was freed for a job is not taken by another
# long: 110 s, a cluster for each Slurm, one restart of slurmctld in each
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='GPUs that victims leave wait for the job they left for'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

# The daemon hears of every job by the doorbell: it looks at all of them only
# once in ten minutes.  Jobs of spot leave at once, those of scavenge get time.
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

# Slurm tests jobs of fast before any other, whatever their tier: it would
# give them what is free.
cat >"$notes/slurm.conf" <<'END'
PartitionName=spot Nodes=ALL MaxTime=INFINITE
PartitionName=infer Nodes=ALL MaxTime=INFINITE
PartitionName=fast Nodes=ALL MaxTime=INFINITE PriorityTier=10
END

# on_node NODE PARTITION GPUS: a job of alice's that runs there
on_node()
{
	local job

	job=$(submit "--partition=$2" "--nodelist=$1" "--gres=gpu:a100:$3" hold.sh) &&
	wait_state "$job" RUNNING >&2 && echo "$job"
}

# sized PARTITION GPUS [OPTION]...: a job of alice's, which Slurm tests once the
# daemon has decided about it; anywhere: and it runs
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

# small USER: a job for one GPU, which Slurm tests first
small()
{
	submit "--user=$1" --partition=fast --gres=gpu:a100:1 --time=60 hold.sh
}

# Round 1: six GPUs, one free, a spot job has two, a scavenger three.
claims()
{
	test_expect_success "$version: the daemon hears of jobs at once" '
		full=$(on_node n2 gpu 6) &&
		spot=$(on_node n1 spot 2) &&
		slow=$(on_node n1 scavenge 3) &&
		wait_why alice "$slow" "on loan"
	'
	test_expect_success "$version: one victim leaves, the other has time" '
		prod=$(submit --user=bob --partition=serve --gres=gpu:a100:5 hold.sh) &&
		wait_until 60 "job $spot left" job_is "$spot" PENDING &&
		wait_until 60 "job $slow was asked" asked "$slow" &&
		job_is "$slow" RUNNING && job_is "$prod" PENDING
	'
	test_expect_success "$version: of three free GPUs two are kept" '
		rest=$(small alice) &&
		wait_state "$rest" RUNNING &&
		thief=$(small alice) &&
		other=$(small bob) &&
		wait_scheduling_cycles 3 &&
		job_is "$thief" PENDING && job_is "$other" PENDING &&
		job_is "$prod" PENDING
	'
	test_expect_success "$version: also over a restart of slurmctld" '
		restart_slurmctld &&
		wait_scheduling_cycles 3 &&
		job_is "$thief" PENDING && job_is "$other" PENDING &&
		job_is "$prod" PENDING
	'
	test_expect_success "$version: and over one of the daemon, then of slurmctld" '
		stop_policyd KILL && policyd_up &&
		restart_slurmctld &&
		wait_scheduling_cycles 3 &&
		job_is "$thief" PENDING && job_is "$other" PENDING &&
		job_is "$prod" PENDING
	'
	test_expect_success "$version: the last one leaves, and the job starts" '
		as root scancel "$slow" &&
		wait_state "$prod" RUNNING &&
		job_is "$thief" PENDING
	'
	test_expect_success "$version: who left without a grace may start at once" '
		wait_policyd_log "job $spot: release"
	'
}

# Round 2: the claim ends with its reason.
reasons()
{
	test_expect_success "$version: a job that is held claims nothing" '
		cancel_all_jobs &&
		full=$(on_node n2 gpu 6) &&
		spot=$(on_node n1 spot 2) &&
		slow=$(on_node n1 scavenge 3) &&
		prod=$(submit --user=bob --partition=serve --gres=gpu:a100:5 hold.sh) &&
		wait_until 60 "job $slow was asked" asked "$slow" &&
		rest=$(small alice) && wait_state "$rest" RUNNING &&
		thief=$(small alice) &&
		wait_scheduling_cycles 2 && job_is "$thief" PENDING &&
		as root scontrol hold "$prod" &&
		wait_state "$thief" RUNNING &&
		cancel_all_jobs
	'
}

# Round 3: two jobs want both nodes, and the nodes become free one by one.
gangs()
{
	test_expect_success "$version: two gangs wait for the same jobs" '
		one=$(on_node n1 scavenge 6) &&
		two=$(on_node n2 scavenge 6) && full=$two &&
		weak=$(submit --partition=gpu -N2 --gres=gpu:a100:4 hold.sh) &&
		wait_until 60 "job $two was asked" asked "$two" &&
		strong=$(submit --user=bob --partition=serve -N2 \
			--gres=gpu:a100:4 hold.sh) &&
		wait_why bob "$strong" "must be preempted for it" &&
		wait_scheduling_cycles 2 && job_is "$strong" PENDING
	'
	test_expect_success "$version: half of it is nothing to either" '
		as root scancel "$one" &&
		wait_scheduling_cycles 2 &&
		job_is "$weak" PENDING && job_is "$strong" PENDING
	'
	test_expect_success "$version: the stronger completes" '
		as root scancel "$two" &&
		wait_state "$strong" RUNNING &&
		job_is "$weak" PENDING &&
		cancel_all_jobs
	'
}

# Where jobs run, with two empty nodes.
places()
{
	test_expect_success "$version: small jobs leave whole nodes whole" '
		one=$(on_node n2 gpu 1) && two=$(anywhere gpu 1) &&
		test "$(job_field "$two" NodeList)" = n2
	'
	test_expect_success "$version: a tier that does not spill stays at home" '
		home=$(anywhere infer 4) && away=$(sized infer 2) &&
		test "$(job_field "$home" NodeList)" = n2 &&
		expect_pending_after_scheduling "$away"
	'
	test_expect_success "$version: nor does a phase, unless the job says where" '
		cancel_all_jobs &&
		home=$(anywhere gpu 4 --phase=eval) &&
		away=$(sized gpu 4 --phase=eval) &&
		there=$(anywhere gpu 4 --phase=eval --nodelist=n1) &&
		test "$(job_field "$home" NodeList)" = n2 &&
		test "$(job_field "$there" NodeList)" = n1 &&
		expect_pending_after_scheduling "$away"
	'
	test_expect_success "$version: a phase that spills is at home first" '
		cancel_all_jobs &&
		home=$(anywhere gpu 4 --phase=train) &&
		away=$(anywhere gpu 4 --phase=train) &&
		test "$(job_field "$home" NodeList)" = n2 &&
		test "$(job_field "$away" NodeList)" = n1
	'
	test_expect_success "$version: nobody new comes to a fenced node" '
		cancel_all_jobs &&
		egsctl update node=n2 fenced=yes --reason="smells of smoke" &&
		egsctl show nodes | grep "^n2 .*fenced" &&
		one=$(anywhere gpu 1) && two=$(sized gpu 6) &&
		test "$(job_field "$one" NodeList)" = n1 &&
		expect_pending_after_scheduling "$two"
	'
	test_expect_success "$version: until the fence is taken away" '
		egsctl update node=n2 fenced=no --reason="was the coffee" &&
		wait_state "$two" RUNNING &&
		cancel_all_jobs
	'
}

keeping()
{
	cluster_up slurm="$version" nodes=2 gpus=6 cores=12 \
		conf="$notes/slurm.conf" egs-conf="$notes/egs.conf"
	places
	claims
	reasons
	gangs
	cluster_down
}

each_version keeping
cluster_done
