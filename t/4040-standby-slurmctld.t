#!/bin/bash
# 4040-standby-slurmctld.t - a standby slurmctld takes over, and EGS with it
# long: 40 s, a cluster with two slurmctlds for each Slurm
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='a standby controller takes over with all that was decided'
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

# slurm_conf HOST: lines for a cluster whose first controller is HOST.  Who
# asks a standby that is about to take over sleeps for half of SlurmctldTimeout.
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

# Another host is another name here, and another address of the same machine:
# with a file of its own, or it would end the first by its process id.
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

sees()
{
	as "$1" egs why "$2" >got 2>&1 && grep -q "$3" got
}

it_takes_over()
{
	test_expect_success "$version: a standby waits" '
		allow_error "get_addr_info|_xgetaddrinfo|standby" &&
		wait_policyd slurmctld up &&
		start_standby && wait_ctld backup UP && ctld_is primary UP
	'
	test_expect_success "$version: a job runs on what nobody uses" '
		weak=$(submit --user=bob --gres=gpu:a100:2 hold.sh) &&
		wait_state $weak RUNNING &&
		wait_until 60 "it is seen" sees bob $weak "running on 2"
	'
	test_expect_success "$version: the standby takes over, the job runs on" '
		as root scontrol takeover &&
		wait_ctld primary DOWN && wait_ctld backup UP &&
		job_is $weak RUNNING &&
		wait_policyd slurmctld up
	'
	test_expect_success "$version: it checks what is submitted" '
		test_must_fail as alice sbatch --tier=prodd \
			--gres=gpu:a100:2 "$jobs/hold.sh" 2>err &&
		grep prodd err
	'
	test_expect_success "$version: an owner gets back its own from there" '
		owner=$(submit --user=alice --gres=gpu:a100:2 hold.sh) &&
		wait_state $owner RUNNING &&
		wait_until 90 "the other is requeued" requeued_once $weak &&
		wait_until 60 "it is seen" sees alice $owner "within quota"
	'
	test_expect_success "$version: all jobs end" '
		as root scancel $weak $owner && wait_queue_empty
	'
}

standby()
{
	slurm_conf "$(cluster_name "$version")" >"$notes/slurm.conf"
	cluster_up slurm="$version" nodes=1 gpus=2 conf="$notes/slurm.conf" \
		egs-conf="$notes/egs.conf"
	it_takes_over
	cluster_down
}

each_version standby
cluster_done
