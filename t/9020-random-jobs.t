#!/bin/bash
# 9020-random-jobs.t - random jobs of three teams, three tiers and all phases
# long: 60 s, a cluster of four nodes for each Slurm with plugins
#
# EGS_RANDOM_JOBS=1000 is the long run, EGS_RANDOM_SEED=N another one, and with
# EGS_RANDOM_RESTARTS=1 daemons do not live for long.
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='whatever jobs do, nobody holds what is not his'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

# t/lib/check/random-jobs knows these numbers, too.
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
# The log tells who is asked for whom only when it tells more.
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
	test_expect_success "$version: all is in order at every step" '
		walk
	'
	cluster_down
}

each_version walks
test_done
