#!/bin/bash
# 4050-standby-host.t - the controller's host fails, a backup host takes over
# long: 60 s, a cluster with two controllers for each Slurm with plugins
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='a backup host takes over slurmctld and egs-policyd'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,scavenge
Tier=prod Partitions=serve MinRuntime=0s
Tier=scavenge Partitions=scavenge Loan=always MinRuntime=0s GraceMax=0s
Team=red Users=alice Quota=a100:4 DefaultTier=prod
Team=blue Users=bob Quota=a100:4 DefaultTier=prod
END

# The backup host has its own name, address, /run and /var/lib/egs.  The state of
# slurmctld is shared, as on a real pair.
second_controller()
{
	as root sh -c 'sed -i "s/^SlurmctldHost=.*/&\n\
SlurmctldHost=other(127.0.0.2)\n\
CommunicationParameters=NoCtldInAddrAny\n\
SlurmctldTimeout=10/" /etc/slurm/slurm.conf &&
		echo 127.0.0.2 other >>/etc/hosts &&
		mkdir -p /srv/other/slurm /srv/other/egs /srv/other/state &&
		chown slurm: /srv/other/*' &&
	restart_slurmctld &&
	as root scontrol reconfigure || return
	sandbox exec "$cluster" -- unshare -u -m sh -c 'hostname other &&
		mount --bind /srv/other/slurm /run/slurm &&
		mount --bind /srv/other/egs /run/egs &&
		mount --bind /srv/other/state /var/lib/egs &&
		exec slurmctld -D -L /srv/other/slurmctld.log' \
		>"$notes/other.out" 2>&1 </dev/null &
	wait_until 90 'two slurmctlds are up' pings_of 2
}

# pings_of COUNT: COUNT controllers answer
pings_of()
{
	[ "$(as root scontrol ping | grep -c "is UP")" = "$1" ]
}

# other CMD...: run CMD on the backup host
other()
{
	sandbox exec "$cluster" -- sh -c 'for pid in $(pgrep -x slurmctld); do
			[ "$(nsenter -t "$pid" -u hostname)" != other ] || break
		done
		exec nsenter -t "$pid" -u -m -r -- "$@"' sh "$@"
}

# slurmctld loses what it has not yet saved, also on stock Slurm.
is_on_disk()
{
	as root grep -q "$1" /var/lib/slurm/job_state
}

host_dies()
{
	as root sh -c 'pkill -9 -x egs-policyd
		kill -9 "$(cat /run/slurm/slurmctld.pid)"'
}

policyd_on_other()
{
	other setpriv --reuid=slurm --regid=slurm --clear-groups -- \
		/opt/egs/sbin/egs-policyd >"$notes/other.policyd" 2>&1 \
		</dev/null &
	wait_until 90 'egs-policyd has polled Slurm' other_pings
}

other_pings()
{
	as root /opt/egs/sbin/egsctl ping | grep 'slurmctld up'
}

select_reads()
{
	as root grep "select/egs: reading" /srv/other/slurmctld.log
}

knows()
{
	as root /opt/egs/sbin/egsctl show jobs -nP -o jobid,tier,state >known &&
	grep -x "$1|$2|$3" known
}

run_all()
{
	cluster_up slurm="$version" nodes=2 gpus=4 egs-conf="$notes/egs.conf"

	allow_error '_shutdown_bu_thread:send/recv other'
	allow_error 'appears to have a different slurm.conf'

	test_expect_success "$version: a backup slurmctld is up beside the first" second_controller

	test_expect_success "$version: egs-report backup copies the state while jobs run" '
		owned=$(submit --user=alice -p serve --gres=gpu:a100:4 hold.sh) &&
		loan=$(submit --user=bob -p scavenge --gres=gpu:a100:4 hold.sh) &&
		wait_state $owned RUNNING && wait_state $loan RUNNING &&
		wait_until 60 "the daemon has both" knows $loan scavenge RUNNING &&
		as root scontrol update jobid=$loan comment=on-disk-now &&
		wait_until 60 "slurmctld has written it" is_on_disk on-disk-now &&
		as root egs-report backup /srv/other/state/state &&
		as root chown slurm: /srv/other/state/state
	'
	test_expect_success "$version: jobs keep running when the backup slurmctld takes over" '
		host_dies &&
		wait_until 120 "slurmctld answers" job_field $owned JobState &&
		test "$(job_field $owned JobState) $(job_field $loan JobState)" = \
			"RUNNING RUNNING" &&
		invariants_hold
	'
	test_expect_success "$version: the backup slurmctld accepts jobs without egs-policyd" '
		later=$(submit --user=alice -p scavenge --gres=gpu:a100:4 hold.sh) &&
		test "$(job_field $later JobState)" = PENDING
	'
	test_expect_success "$version: egs-policyd on the backup host continues with the copied state" '
		policyd_on_other &&
		wait_until 60 "egs-policyd knows the old job" \
			knows $owned prod RUNNING &&
		wait_until 60 "egs-policyd knows the new job" \
			knows $later scavenge PENDING &&
		wait_until 60 "slurmctld has its table" select_reads &&
		grep "epoch 2" "$notes/other.policyd"
	'
	test_expect_success "$version: the backup slurmctld applies the decisions of egs-policyd" '
		strong=$(submit --user=bob -p serve --gres=gpu:a100:4 hold.sh) &&
		wait_state $strong RUNNING 180 &&
		test "$(job_field $loan Restarts) $(job_field $owned Restarts)" = "1 0" &&
		invariants_hold
	'
	test_expect_success "$version: the first host takes over again and knows all jobs" '
		other pkill -x egs-policyd &&
		wait_until 60 "egs-policyd of the backup host is gone" no_policyd &&
		as root slurmctld &&
		wait_until 120 "two slurmctlds are up" pings_of 2 &&
		wait_until 120 "slurmctld answers" job_field $owned JobState &&
		policyd_up &&
		wait_until 60 "egs-policyd knows all jobs" knows $strong prod RUNNING &&
		invariants_hold
	'
	test_expect_success "$version: the backup slurmctld ends" '
		other sh -c "kill \$(cat /run/slurm/slurmctld.pid)" &&
		wait_until 60 "one slurmctld is up" pings_of 1
	'
	cluster_down
}

each_version run_all
test_done
