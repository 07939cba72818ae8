#!/bin/bash
# 2020-sandbox-versions.t - clusters of all releases of Slurm, side by side
# long: 40 s, three clusters

# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description
test_description='clusters of all releases run a GPU job with a hint at the same time'
. "${srcdir:=$(dirname "$0")/..}/t/lib/sh/cluster.sh"

for v in $EGS_TEST_VERSIONS; do
	cluster_up slurm="$v" nodes=2 gpus=2
done

test_expect_success 'clusters of all releases are up at the same time' '
	sandbox list $clusters >got &&
	for v in $EGS_TEST_VERSIONS; do
		grep -E " $v\.[0-9][^ ]* +2 up " got || return 1
	done
'

for v in $EGS_TEST_VERSIONS; do
	test_expect_success "$v: a job of alice runs as alice, with GPUs" '
		on "$v" as alice srun --phase=train --gres=gpu:a100:2 \
			sh -c "id -un; echo \$CUDA_VISIBLE_DEVICES" >got &&
		printf "%s\n" alice 0,1 >want &&
		test_cmp want got
	'
	test_expect_success "$v: exec finds the commands and man pages of EGS" '
		on "$v" as alice egs --version &&
		on "$v" as alice egsctl --version &&
		on "$v" as alice man 7 egs >got &&
		grep -e "--phase=NAME" got
	'
done

cluster_done
