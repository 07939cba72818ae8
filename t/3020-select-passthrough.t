#!/bin/bash
# 3020-select-passthrough.t - packs of GPU jobs through select/egs
# long: 50 s, two clusters side by side, twice
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='packs of GPU jobs start and complete with select/egs'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"

pack=24 # jobs

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

compare_with_stock()
{
	cluster_up slurm="$version" name=stock stock nodes=4 gpus=4
	cluster_up slurm="$version" name=egs nodes=4 gpus=4
	test_expect_success "$version: slurmctld has loaded select/egs, on the EGS cluster only" '
		on egs stacked && ! on stock stacked
	'
	test_expect_success "$version: no two jobs of a pack share a GPU" '
		in_parallel "stock egs" submit_pack
	'
	test_expect_success "$version: all jobs of the pack complete on both clusters" '
		in_parallel "stock egs" all_complete
	'
	test_expect_success "$version: EGS adds no error to the log of slurmctld" '
		on egs no_more_errors_than stock
	'
	on stock cluster_down
	on egs cluster_down
}

each_version compare_with_stock
cluster_done
