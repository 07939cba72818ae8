#!/bin/bash
# 9020-random-jobs.t - random jobs of three teams, three tiers and all phases
# long: 60 s, a cluster of four nodes for each Slurm with plugins
#
# EGS_RANDOM_JOBS=1000 is the long run, EGS_RANDOM_SEED=N is another sequence,
# and EGS_RANDOM_RESTARTS=1 restarts daemons.
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='after random jobs no rule of the policy is broken'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

# t/lib/check/random-jobs has the same numbers.
cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,research,scavenge
PollInterval=1s
GpuType=a100
Tier=prod MinRuntime=6s GraceMin=2s GraceMax=2s GraceNoAck=2s
Tier=research MinRuntime=6s GraceMin=2s GraceMax=2s GraceNoAck=2s
Tier=scavenge Loan=always MinRuntime=0s GraceMin=2s GraceMax=2s GraceNoAck=2s
Team=fraud Users=alice Quota=a100:8 DefaultTier=research
Team=vision Users=bob Quota=a100:4 DefaultTier=research
Team=speech Users=carol Quota=a100:4 DefaultTier=research
Phase=prep Gpus=0
END
# slurmctld logs victims and requesters only at this level.
echo SlurmctldDebug=debug >"$notes/slurm.conf"

walk()
{
	as root /srv/egs/t/lib/check/random-jobs --jobs="${EGS_RANDOM_JOBS:-20}" \
		--seed="${EGS_RANDOM_SEED:-1}" \
		${EGS_RANDOM_RESTARTS:+--restarts}
}

walks()
{
	cluster_up slurm="$version" nodes=4 gpus=4 cores=16 \
		conf="$notes/slurm.conf" egs-conf="$notes/egs.conf"
	test_expect_success "$version: the invariants and the policy hold after each random step" '
		walk
	'
	cluster_down
}

each_version walks
test_done
