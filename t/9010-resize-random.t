#!/bin/bash
# 9010-resize-random.t - random resizes of random jobs, with restarts between
# long: 90 s, a cluster of four nodes for each Slurm with plugins
#
# EGS_RESIZE_STEPS=500 EGS_RESIZE_JOBS=60 is the long run, EGS_RESIZE_DBD=1 adds
# slurmdbd, EGS_RESIZE_SEED=N is another sequence.
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='after random resizes no GPU is in two jobs'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/preempt.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
LiveResize=yes
TierOrder=prod
Team=crew Users=alice,bob,carol,dave DefaultTier=prod
END

walk()
{
	as root /srv/egs/t/lib/check/resize-random \
		--steps="${EGS_RESIZE_STEPS:-30}" \
		--jobs="${EGS_RESIZE_JOBS:-8}" --seed="${EGS_RESIZE_SEED:-1}"
}

walks()
{
	cluster_up slurm="$version" nodes=4 gpus=4 type=a100,h100 \
		egs-conf="$notes/egs.conf" ${EGS_RESIZE_DBD:+dbd}
	test_expect_success "$version: the invariants hold after each random resize" '
		walk
	'
	cluster_down
}

each_version walks
test_done
