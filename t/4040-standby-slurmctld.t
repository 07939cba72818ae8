#!/bin/bash
# 4040-standby-slurmctld.t - a standby slurmctld takes over, with EGS in it
# long: 40 s, a cluster with two slurmctlds for each Slurm
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='a standby slurmctld takes over, and EGS decides there'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,research,scavenge
PollInterval=1s
GpuType=a100
Tier=research MinRuntime=1h GraceMin=0s GraceMax=0s
Tier=scavenge Loan=always MinRuntime=0s GraceMin=0s GraceMax=0s
Team=fraud Users=alice Quota=a100:2 DefaultTier=research
Team=vision Users=bob Quota=a100:0 DefaultTier=scavenge
END

# slurm_conf HOST: lines for a cluster whose first controller is HOST.  A client
# of a standby that is about to take over sleeps for half of SlurmctldTimeout.
slurm_conf()
{
	cat <<-END
	SlurmctldHost=$1(127.0.0.1)
	SlurmctldHost=standby(127.0.0.2)
	CommunicationParameters=NoCtldInAddrAny
	SlurmctldTimeout=30
	DebugFlags=NO_CONF_HASH
	END
}

# The standby host is another name and address of this machine.  It has its own
# pid file, or it would stop the first slurmctld.
start_standby()
{
	as root sh -c '
		echo 127.0.0.2 standby >>/etc/hosts &&
		sed "s,/slurmctld\.,/standby.," /etc/slurm/slurm.conf \
			>/etc/slurm/standby.conf &&
		exec unshare --uts sh -c "
			hostname standby &&
			exec slurmctld -f /etc/slurm/standby.conf"'
}

# ctld_is primary|backup UP|DOWN
ctld_is()
{
	as root scontrol ping | grep -q "($1) at .* is $2"
}

wait_ctld()
{
	wait_until 90 "the $1 controller is $2" ctld_is "$1" "$2"
}

requeued_once()
{
	[ "$(job_field "$1" Restarts)" = 1 ]
}

why_shows()
{
	as "$1" egs why "$2" >got 2>&1 && grep -q "$3" got
}

check_takeover()
{
	test_expect_success "$version: a standby slurmctld is up beside the primary" '
		allow_error "get_addr_info|_xgetaddrinfo|standby" &&
		wait_policyd slurmctld up &&
		start_standby && wait_ctld backup UP && ctld_is primary UP
	'
	test_expect_success "$version: egs-policyd knows a running job before the takeover" '
		weak=$(submit --user=bob --gres=gpu:a100:2 hold.sh) &&
		wait_state $weak RUNNING &&
		wait_until 60 "egs why knows the job" \
			why_shows bob $weak "running on 2"
	'
	test_expect_success "$version: the job keeps running when the standby takes over" '
		as root scontrol takeover &&
		wait_ctld primary DOWN && wait_ctld backup UP &&
		job_is $weak RUNNING &&
		wait_policyd slurmctld up
	'
	test_expect_success "$version: the standby refuses an unknown tier" '
		test_must_fail as alice sbatch --tier=prodd \
			--gres=gpu:a100:2 "$jobs/hold.sh" 2>err &&
		grep prodd err
	'
	test_expect_success "$version: the standby preempts a loan for the owner of the GPUs" '
		owner=$(submit --user=alice --gres=gpu:a100:2 hold.sh) &&
		wait_state $owner RUNNING &&
		wait_until 90 "the job on loan is requeued" \
			requeued_once $weak &&
		wait_until 60 "egs why knows the job" \
			why_shows alice $owner "within quota"
	'
	test_expect_success "$version: all jobs end after scancel" '
		as root scancel $weak $owner && wait_queue_empty
	'
}

standby()
{
	slurm_conf "$(cluster_name "$version")" >"$notes/slurm.conf"
	cluster_up slurm="$version" nodes=1 gpus=2 conf="$notes/slurm.conf" \
		egs-conf="$notes/egs.conf"
	check_takeover
	cluster_down
}

each_version standby
cluster_done
