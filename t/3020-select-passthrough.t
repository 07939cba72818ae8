#!/bin/bash
# 3020-select-passthrough.t - packs of GPU jobs through select/egs
# long: 70 s, two clusters side by side, twice
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='packs of GPU jobs start and complete with select/egs'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"

pack=24 # jobs

cat >"$notes/slurm.conf" <<'END'
MaxNodeCount=10
SchedulerParameters=batch_sched_delay=0,sched_interval=5,bf_interval=2,bf_continue,permit_job_expansion
END

# stacked: slurmctld has loaded select/egs in place of Slurm's plugin.
stacked()
{
	local pid

	pid=$(as root cat /run/slurm/slurmctld.pid) &&
	as root cat "/proc/$pid/maps" >maps &&
	grep -q "/opt/egs/lib/slurm/.*select_.*\.so" maps
}

# shape: set 'options' for the next job of a fixed pseudo-random sequence.  Not
# in a subshell, where bash would start another sequence.
shape()
{
	local gpus=$((1 + RANDOM % 4))

	case $((RANDOM % 5)) in
	0) options=(-N2 "--gres=gpu:$gpus") ;;
	1) options=("--gpus=$((gpus + 1))") ;;
	2) options=("-n$gpus" --gpus-per-task=1) ;;
	3) options=(-c2 "--gres=gpu:a100:$gpus") ;;
	4) options=("-c$gpus" --mem=500 --gres=gpu:1) ;;
	esac
	options+=(--wrap "sleep 1.$((RANDOM % 10))")
}

# submit_pack: the same jobs for every cluster, from three users in turn.
submit_pack()
{
	local i options users=(alice bob carol)

	RANDOM=5120
	for ((i = 0; i < pack; i++)); do
		shape
		submit --user="${users[i % 3]}" -o /dev/null "${options[@]}" ||
			return
		[ $((i % 8)) -ne 7 ] || invariants_hold || return
	done
}

all_complete()
{
	wait_queue_empty 120 &&
	as root scontrol show job -d | "$srcdir/t/lib/check/job-field" JobState |
		sort | uniq -c >"$cluster.states" &&
	cat "$cluster.states" &&
	grep -qx " *$pack COMPLETED" "$cluster.states"
}

# show_defaults: what slurmctld takes if slurm.conf has no SelectTypeParameters
show_defaults()
{
	# The first nodes register before the last slurmd has restarted.
	allow_error "Node n[1-4] appears to have a different slurm.conf" &&
	as root sed -i /^SelectTypeParameters/d /etc/slurm/slurm.conf &&
	restart_daemons &&
	as root scontrol show config |
		grep -E '^(SelectTypeParameters|MaxNodeCount) ' >"$cluster.defaults"
}

# make_node: what scontrol says about a node that it creates and deletes
make_node()
{
	for verb in "create NodeName=d1 CPUs=2 State=CLOUD" "show node d1" \
		"delete NodeName=d1"; do
		# shellcheck disable=SC2086 # words
		as root scontrol $verb
		echo "$verb: $?"
	done >"$cluster.node" 2>&1
	cat "$cluster.node"
}

# expand_job: GPUs of a job that expands one with two GPUs
expand_job()
{
	local job more

	job=$(submit --user=dave --gres=gpu:2 hold.sh) &&
	wait_state "$job" RUNNING &&
	more=$(submit --user=dave --dependency="expand:$job" --gres=gpu:1 hold.sh) &&
	wait_state "$more" RUNNING &&
	as root scontrol show job -d "$more" | grep -o ' GRES=[^(]*' \
		>"$cluster.expanded" &&
	as root scancel "$more" "$job" && wait_queue_empty
}

# Places where Slurm knows its own plugin by the name in SelectType.
compare_name()
{
	test_expect_success "$version: MaxNodeCount and the default of SelectTypeParameters are those of stock Slurm" '
		in_parallel "stock egs" show_defaults &&
		test_cmp "$(cluster_name stock).defaults" "$(cluster_name egs).defaults" &&
		grep MaxNodeCount "$(cluster_name egs).defaults"
	'
	test_expect_success "$version: a node can be created and deleted as on stock Slurm" '
		in_parallel "stock egs" make_node &&
		test_cmp "$(cluster_name stock).node" "$(cluster_name egs).node" &&
		grep "^create .*: 0" "$(cluster_name egs).node"
	'
	test_expect_success "$version: a job that expands another has the GPUs it has on stock Slurm" '
		in_parallel "stock egs" expand_job &&
		test_cmp "$(cluster_name stock).expanded" "$(cluster_name egs).expanded" &&
		grep gpu "$(cluster_name egs).expanded"
	'
}

compare_with_stock()
{
	cluster_up slurm="$version" name=stock stock nodes=4 gpus=4 \
		conf="$notes/slurm.conf"
	cluster_up slurm="$version" name=egs nodes=4 gpus=4 \
		conf="$notes/slurm.conf"
	test_expect_success "$version: slurmctld has loaded select/egs, on the EGS cluster only" '
		on egs stacked && ! on stock stacked
	'
	test_expect_success "$version: no two jobs of a pack share a GPU" '
		in_parallel "stock egs" submit_pack
	'
	test_expect_success "$version: all jobs of the pack complete on both clusters" '
		in_parallel "stock egs" all_complete
	'
	compare_name
	test_expect_success "$version: EGS adds no error to the log of slurmctld" '
		on egs no_more_errors_than stock
	'
	on stock cluster_down
	on egs cluster_down
}

each_version compare_with_stock
cluster_done
