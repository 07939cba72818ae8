#!/bin/bash
# 5038-limits.t - the limits of a team bind every start
# long: 160 s, a cluster of five nodes for each Slurm; the last has two GPU types
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='limits where jobs start'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
Partitions=gpu,off,whole
TierOrder=prod,fixed,research
PollInterval=1s
StaleAfter=1h
GpuType=a100
GpuType=h100
Tier=prod MinRuntime=0s
Tier=fixed Loan=never MinRuntime=0s
Tier=research MinRuntime=0s GraceMin=0s GraceMax=0s
Team=fraud Users=alice Quota=a100:8 DefaultTier=research
Team=vision Users=bob Quota=a100:8 DefaultTier=research
Team=students Users=dave Quota=none MaxGpus=a100:6,h100:1 DefaultTier=research
END

# Backfill runs every second: many steps wait for its cycles.
cat >"$notes/slurm.conf" <<'END'
SchedulerParameters=batch_sched_delay=0,sched_interval=5,bf_interval=1,bf_continue
PartitionName=off Nodes=ALL MaxTime=INFINITE PreemptMode=OFF
PartitionName=whole Nodes=n[1-4] MaxTime=INFINITE OverSubscribe=EXCLUSIVE
END

# held_gpus USER: GPUs of all running jobs of USER, as Slurm shows them
held_gpus()
{
	as root scontrol show job -d -o | perl -ne '
		next unless /UserId='"$1"'\(/ && /JobState=RUNNING/;
		$sum += $_ for / GRES=gpu:a100:(\d+)\(/g;
		END { print $sum + 0, "\n" }'
}

has_gpus()
{
	[ "$(held_gpus "$1")" = "$2" ]
}

# watch_use USER FILE: write what USER holds into FILE until FILE.end exists
watch_use()
{
	until [ -e "$2.end" ]; do
		held_gpus "$1" >>"$2"
		sleep 0.2
	done
}

# most_used FILE: the largest number in FILE
most_used()
{
	sort -n "$1" | tail -n 1
}

# block_queue: a large, unmanaged job at the end of the queue keeps both schedulers
# at work: they skip jobs that a limit defers
block_queue()
{
	blocker=$(submit --user=carol --nice=10000 -N4 --gres=gpu:a100:4 hold.sh)
}

# block_node USER: likewise, while other nodes are free: a job of USER waits for n4,
# which another one has
block_node()
{
	local job

	job=$(submit "--user=$1" -w n4 --gres=gpu:a100:4 hold.sh) &&
	wait_state "$job" RUNNING &&
	submit "--user=$1" --nice=10000 -w n4 --gres=gpu:a100:4 hold.sh
}

# submit_random: an array, srun or salloc of dave with 1 to 3 GPUs for each job
submit_random()
{
	local gres=gpu:a100:$((RANDOM % 3 + 1))

	case $((RANDOM % 3)) in
	0) submit --user=dave "--array=1-$((RANDOM % 6 + 1))" "--gres=$gres" \
		hold.sh ;;
	1) as dave srun "--gres=$gres" sleep 1000 3>&- 4>&- & ;;
	2) as dave salloc --no-shell "--gres=$gres" 3>&- 4>&- & ;;
	esac
}

# has_most_gpus USER GPUS: USER holds so many GPUs that no job of 3 more fits
has_most_gpus()
{
	[ "$(held_gpus "$1")" -gt $(($2 - 3)) ]
}

job_named()
{
	as root squeue -h -n "$1" -o %A | grep .
}

check_max_gpus()
{
	test_expect_success "$version: an array runs with no more GPUs than MaxGpus" '
		cancel_all_jobs &&
		use=$notes/use-$version &&
		{ watch_use dave "$use" 3>&- 4>&- & } &&
		array=$(submit --user=dave --array=1-12 --gres=gpu:a100:1 hold.sh) &&
		wait_until 60 "dave holds 6 GPUs" has_gpus dave 6 && block_queue &&
		wait_why dave "$array" "MaxGpus= of students allows 6" &&
		as root egsctl show teams -nP -o team,maxgpus | grep -x "students|6"
	'
	test_expect_success "$version: srun does not start beyond MaxGpus" '
		{ as dave srun -J extra --gres=gpu:a100:1 sleep 1000 3>&- 4>&- & } &&
		both=$(submit --user=dave --partition=gpu,serve \
			--gres=gpu:a100:1 hold.sh) &&
		wait_until 60 "srun has a job" job_named extra &&
		extra=$(job_named extra) &&
		wait_why dave "$extra" "MaxGpus= of students allows 6" &&
		wait_scheduling_cycles 2 && job_is "$extra" PENDING && has_gpus dave 6
	'
	test_expect_success "$version: a partition outside Partitions= in the list does not lift MaxGpus" '
		job_is "$both" PENDING &&
		wait_why dave "$both" "MaxGpus= of students allows 6"
	'
	test_expect_success "$version: MaxGpus holds after a restart of slurmctld" '
		restart_slurmctld && wait_scheduling_cycles 2 && has_gpus dave 6
	'
	test_expect_success "$version: jobs that waited for MaxGpus start when GPUs of the team are free" '
		as root scancel "$array" "$blocker" && wait_state "$extra" RUNNING &&
		wait_state "$both" RUNNING && as root scancel "$extra" "$both" &&
		as dave srun --gres=gpu:a100:1 true
	'
	test_expect_success "$version: random arrays, sruns and sallocs fill MaxGpus" '
		RANDOM=16 &&
		for i in 1 2 3 4 5 6 7 8; do submit_random || return; done &&
		wait_until 60 "dave holds more than 3 GPUs" has_most_gpus dave 6 &&
		block_queue && wait_scheduling_cycles 2 && cancel_all_jobs
	'
	test_expect_success "$version: the team never had more than MaxGpus" '
		touch "$use.end" && test -s "$use" && test "$(most_used "$use")" = 6
	'
}

# is_known JOB: egs-policyd has read the job
is_known()
{
	as root egsctl show jobs -nP -o jobid | grep -qx "$1"
}

# stop_reading_jobs JOB...: stop egs-policyd when it knows the jobs
stop_reading_jobs()
{
	local job

	for job in "$@"; do
		wait_until 60 "egs-policyd knows job $job" is_known "$job" || return
	done
	as root pkill -STOP -x egs-policyd
}

# count_running USER: running jobs
count_running()
{
	as root squeue -h -t RUNNING -u "$1" -o %A | wc -l
}

any_runs()
{
	[ "$(count_running "$1")" -gt 0 ]
}

# update_and_release JOB OPTION=VALUE...: dave updates and releases his held job
update_and_release()
{
	as dave scontrol update "JobId=$1" "${@:2}" &&
	as dave scontrol release "$1"
}

check_updates()
{
	test_expect_success "$version: an update just before the start does not lift MaxGpus" '
		cancel_all_jobs &&
		first=$(submit --user=dave --gres=gpu:a100:4 hold.sh) &&
		wait_state "$first" RUNNING &&
		late=$(submit --user=dave -H --gres=gpu:a100:1 hold.sh) &&
		wide=$(submit --user=dave -H -N1 --gres=gpu:a100:2 hold.sh) &&
		stop_reading_jobs "$late" "$wide" &&
		update_and_release "$late" Gres=gpu:a100:4 &&
		update_and_release "$wide" NumNodes=2-2 &&
		wait_scheduling_cycles 2 &&
		job_is "$late" PENDING && has_gpus dave 4
	'
	test_expect_success "$version: more nodes just before the start do not lift MaxGpus" '
		job_is "$wide" PENDING && has_gpus dave 4 &&
		as root pkill -CONT -x egs-policyd &&
		wait_why dave "$late" "MaxGpus= of students allows 6" &&
		wait_why dave "$wide" "MaxGpus= of students allows 6"
	'
	test_expect_success "$version: an update to what MaxGpus leaves lets the job start" '
		as dave scontrol update "JobId=$late" Gres=gpu:a100:2 &&
		wait_state "$late" RUNNING && has_gpus dave 6 && cancel_all_jobs
	'
	test_expect_success "$version: a job with a range of nodes counts with all that Slurm would give it" '
		range=$(submit --user=dave -N1-4 --gres=gpu:a100:2 hold.sh) &&
		wait_why dave "$range" "MaxGpus= of students allows 6" &&
		has_gpus dave 0 && cancel_all_jobs
	'
	test_expect_success "$version: an exclusive job without a GPU request gets no more than MaxGpus" '
		whole=$(submit --user=dave -N2 --exclusive hold.sh) &&
		four=$(submit --user=dave -N4 --exclusive hold.sh) &&
		wait_until 60 "egs-policyd knows the job" is_known "$whole" &&
		wait_scheduling_cycles 2 && job_is "$whole" PENDING &&
		has_gpus dave 0
	'
	test_expect_success "$version: egs why tells that an exclusive job is over MaxGpus" '
		wait_why dave "$four" "it needs 8 a100; MaxGpus= of students allows 6"
	'
	test_expect_success "$version: an exclusive job over MaxGpus does not block the jobs behind it" '
		job=$(submit --user=carol -N4 --exclusive hold.sh) &&
		wait_state "$job" RUNNING && job_is "$whole" PENDING &&
		cancel_all_jobs
	'
}

# was_started JOB: slurmctld has started a component of JOB
was_started()
{
	as root grep -qE "Started JobId=$1\+|Allocate JobId=$1\+" \
		/var/log/slurmctld.log
}

check_het_jobs()
{
	test_expect_success "$version: components beyond MaxGpus together are never started" '
		cancel_all_jobs && block_node carol &&
		het=$(submit --user=dave --gres=gpu:a100:4 : \
			--gres=gpu:a100:4 hold.sh) &&
		whole=$(submit --user=dave -p whole : -p whole hold.sh) &&
		wait_why dave "$het" "components of its heterogeneous job need 8 a100 together" &&
		wait_scheduling_cycles 2 && job_is "$het" PENDING &&
		! was_started "$het"
	'
	test_expect_success "$version: components with whole nodes count together" '
		! was_started "$whole" &&
		wait_why dave "$whole" "components of its heterogeneous job need 8 a100 together"
	'
	test_expect_success "$version: a het job over MaxGpus does not block the jobs behind it" '
		job=$(submit --user=carol -N3 --gres=gpu:a100:4 hold.sh) &&
		wait_state "$job" RUNNING && job_is "$het" PENDING &&
		cancel_all_jobs
	'
	test_expect_success "$version: a het job starts if MaxGpus leaves room for all components" '
		het=$(submit --user=dave --gres=gpu:a100:3 : \
			--gres=gpu:a100:3 hold.sh) &&
		wait_state "$het" RUNNING && was_started "$het" &&
		wait_until 60 "dave holds 6 GPUs" has_gpus dave 6
	'
}

check_types()
{
	test_expect_success "$version: each GPU type of a job counts for its own limit" '
		cancel_all_jobs && block_node carol &&
		first=$(submit --user=dave --gres=gpu:a100:1,gpu:h100:1 hold.sh) &&
		wait_state "$first" RUNNING &&
		second=$(submit --user=dave --gres=gpu:a100:1,gpu:h100:1 hold.sh) &&
		wait_why dave "$second" "it needs 1 h100; MaxGpus= of students allows 1" &&
		wait_scheduling_cycles 2 && job_is "$second" PENDING
	'
	test_expect_success "$version: a job of two types counts at once for a job of the second" '
		as root scancel "$first" "$second" &&
		wait_until 60 "the jobs have ended" has_gpus dave 0 &&
		first=$(submit --user=dave -H --gres=gpu:a100:1,gpu:h100:1 hold.sh) &&
		second=$(submit --user=dave -H --gres=gpu:h100:1 hold.sh) &&
		stop_reading_jobs "$first" "$second" &&
		as dave scontrol release "$first" "$second" &&
		wait_until 60 "a job runs" any_runs dave &&
		wait_scheduling_cycles 2 && test "$(count_running dave)" = 1 &&
		as root pkill -CONT -x egs-policyd
	'
	test_expect_success "$version: a job with more GPUs of its second type than MaxGpus is refused" '
		test_must_fail submit --user=dave --gres=gpu:a100:1,gpu:h100:2 \
			hold.sh 2>refusal &&
		grep "2 GPUs refused: team students may use at most 1 h100" refusal
	'
	test_expect_success "$version: a het job starts whose second type only one node has" '
		cancel_all_jobs &&
		het=$(submit --user=dave --gres=gpu:a100:1 : \
			--gres=gpu:h100:1 hold.sh) &&
		wait_state "$het" RUNNING
	'
	test_expect_success "$version: egsctl show nodes has all types of a node" '
		as root egsctl show nodes -nP -o node,type | grep -x "n5|a100:2,h100:2"
	'
}

# start_whole N: srun without a GPU request in a partition that gives whole nodes
start_whole()
{
	as dave srun -J "whole$1" -p whole sleep 1000 3>&- 4>&- &
}

check_exclusive_partition()
{
	test_expect_success "$version: jobs without GPUs that get whole nodes stay within MaxGpus" '
		cancel_all_jobs && block_node carol &&
		start_whole 1 && start_whole 2 && start_whole 3 &&
		wait_until 60 "a job runs on a whole node" has_gpus dave 4 &&
		for i in 1 2 3; do
			wait_until 60 "srun $i has a job" job_named "whole$i" || return
		done &&
		wait_scheduling_cycles 2 && has_gpus dave 4 &&
		job=$(as root squeue -h -u dave -t PD -o %A | head -n 1) &&
		wait_why dave "$job" "it needs 4 a100; MaxGpus= of students allows 6"
	'
}

# Only egs-policyd knows that carol is in the group.
check_group_team()
{
	test_expect_success "$version: MaxGpus of a team of a group binds the first jobs" '
		cancel_all_jobs &&
		echo "Team=lab Groups=vision MaxGpus=a100:2 DefaultTier=research" |
		as root tee -a /etc/slurm/egs.conf >/dev/null &&
		as root egsctl reconfigure && block_node bob &&
		use=$notes/use-lab-$version &&
		{ watch_use carol "$use" 3>&- 4>&- & } &&
		as root pkill -STOP -x egs-policyd &&
		array=$(submit --user=carol --array=1-8 --gres=gpu:a100:1 hold.sh) &&
		{ as carol srun -J extra --gres=gpu:a100:1 sleep 1000 3>&- 4>&- & } &&
		wait_until 60 "srun has a job" job_named extra &&
		wait_scheduling_cycles 2 && has_gpus carol 0 &&
		as root pkill -CONT -x egs-policyd &&
		wait_until 60 "carol holds 2 GPUs" has_gpus carol 2 &&
		wait_scheduling_cycles 2 && has_gpus carol 2
	'
	test_expect_success "$version: the team of a group never had more than MaxGpus" '
		touch "$use.end" && test "$(most_used "$use")" = 2
	'
	test_expect_success "$version: a job that no group puts under a limit starts at once" '
		as root timeout 60 srun --gres=gpu:a100:1 true && cancel_all_jobs
	'
}

check_loan_never()
{
	test_expect_success "$version: an array of a tier with Loan=never stays within quota" '
		cancel_all_jobs &&
		array=$(submit --tier=fixed --array=1-12 --gres=gpu:a100:1 hold.sh) &&
		wait_until 60 "alice holds 8 GPUs" has_gpus alice 8 && block_queue &&
		{ as alice salloc --no-shell -J extra --tier=fixed \
			--gres=gpu:a100:1 3>&- 4>&- & } &&
		wait_until 60 "salloc has a job" job_named extra &&
		wait_why alice "$array" "quota" &&
		wait_scheduling_cycles 2 && has_gpus alice 8
	'
	test_expect_success "$version: salloc of a tier with Loan=never does not start beyond the quota" '
		job_is "$(job_named extra)" PENDING && cancel_all_jobs
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=5 gpus=4 \
		type=a100,a100,a100,a100,a100+h100 \
		conf="$notes/slurm.conf" egs-conf="$notes/egs.conf"
	check_max_gpus
	check_updates
	check_het_jobs
	check_types
	check_exclusive_partition
	check_loan_never
	check_group_team
	cluster_down
}

each_version run_all
cluster_done
