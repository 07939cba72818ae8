#!/bin/bash
# sandbox-boot.sh - process 1 inside a sandbox: start the daemons, reap processes
#
# Creates 'ready' in /run/sandbox, or 'failed' with the name of a log and a
# sentence.  Continues after a failure, so that "up" can read the logs; "up" then
# kills it.

# shellcheck disable=SC2154 # o_* come from the settings
set -u
say=/run/sandbox
export SLURM_CONF=/etc/slurm/slurm.conf
start_s=60	# deadline for each step

# fail LOG SENTENCE...
fail()
{
	echo "$*" >$say/failed.new
	mv $say/failed.new $say/failed
	return 1
}

# until_true COMMAND...: retry until it succeeds or the deadline has passed.
until_true()
{
	local end=$((SECONDS + start_s))

	until "$@"; do
		((SECONDS < end)) || return 1
		sleep 0.1
	done
}

# until_answers DAEMON COMMAND...: the same, while the daemon runs; a mistake in
# slurm.conf may end it after it went to the background.
until_answers()
{
	until_true ended_or "$@" && "${@:2}"
}

ended_or()
{
	! lives "$1" || "${@:2}"
}

# A daemon forks on its way to the background, and a process list may miss both
# processes: check again before saying no.
lives()
{
	local n

	for n in 1 2 3; do
		! grep -qsx "$1" /proc/[0-9]*/comm || return 0
		sleep "0.$n"
	done
	return 1
}

# become USER COMMAND...
become()
{
	setpriv --reuid="$1" --regid="$1" --clear-groups -- "${@:2}"
}

start_munged()
{
	become munge munged --foreground >/var/log/munged.log 2>&1 &
	until_true test -S /run/munge/munge.socket.2 ||
		fail munged.log "munged does not start"
}

# start_mariadb: with a socket only, and fast instead of safe, because nothing in
# a sandbox is kept.
start_mariadb()
{
	local log=/var/log/mariadb.log

	become mysql mariadb-install-db --no-defaults --skip-test-db \
		--auth-root-authentication-method=socket \
		--innodb-log-file-size=16M --datadir=/var/lib/mysql \
		>$log 2>&1 || fail mariadb.log "no database can be made" ||
		return
	cat >/run/sandbox/grant.sql <<-END
	CREATE DATABASE slurm_acct_db;
	CREATE USER slurm@localhost IDENTIFIED VIA unix_socket;
	GRANT ALL ON slurm_acct_db.* TO slurm@localhost;
	END
	become mysql mariadbd --no-defaults --skip-networking \
		--datadir=/var/lib/mysql --socket=/run/mysqld/mysqld.sock \
		--pid-file=/run/mysqld/mysqld.pid \
		--init-file=/run/sandbox/grant.sql \
		--innodb-log-file-size=16M --innodb-buffer-pool-size=64M \
		--innodb-flush-log-at-trx-commit=0 \
		--innodb-lock-wait-timeout=900 >>$log 2>&1 &
	until_true test -S /run/mysqld/mysqld.sock ||
		fail mariadb.log "mariadbd does not start"
}

dbd_answers()
{
	timeout 10 sacctmgr -n list cluster >/dev/null 2>&1
}

start_slurmdbd()
{
	{
		slurmdbd >/var/log/slurmdbd.out 2>&1 &&
			until_answers slurmdbd dbd_answers
	} || fail slurmdbd.log "slurmdbd does not answer"
}

# add_accounts: accounts of the users, from their groups
add_accounts()
{
	{
		sacctmgr -i add cluster "$o_name" &&
			sacctmgr -i add account fraud,fraud-prod &&
			sacctmgr -i add account vision,teaching &&
			sacctmgr -i add user alice account=fraud,fraud-prod \
				defaultaccount=fraud &&
			sacctmgr -i add user bob,carol account=vision &&
			sacctmgr -i add user dave account=teaching
	} >/var/log/sacctmgr.log 2>&1 ||
		fail sacctmgr.log "accounts cannot be added"
}

start_accounting()
{
	[ "$o_dbd" -eq 0 ] ||
		{ start_mariadb && start_slurmdbd && add_accounts; }
}

ctld_answers()
{
	timeout 10 scontrol ping 2>/dev/null | grep -q ' UP'
}

start_slurmctld()
{
	{
		slurmctld >/var/log/slurmctld.out 2>&1 &&
			until_answers slurmctld ctld_answers
	} || fail slurmctld.log "slurmctld does not answer"
}

# with_unit NAME COMMAND...: run COMMAND with the limits of etc/NAME.service.  A
# unit has mounts of its own, which follow those of the host.
with_unit()
{
	mount --make-rshared / &&
		PATH=/opt/egs/sbin:$PATH exec /srv/egs/contrib/lib/as-unit \
			"/srv/egs/etc/$1.service" "${@:2}"
}

# start_nodeds: as systemd would.  The egs-noded that slurmd starts then exits.
start_nodeds()
{
	local i

	[ "$o_units" -eq 1 ] && [ -f /etc/slurm/egs.conf ] || return 0
	for ((i = 1; i <= o_nodes; i++)); do
		with_unit egs-noded egs-noded -N "n$i" \
			"--log=/var/log/egs-noded-n$i.log" \
			>>"/var/log/egs-noded-n$i.log" 2>&1 &
		until_true test -e "/run/egs-node/n$i/.lock" ||
			fail "egs-noded-n$i.log" "egs-noded does not start" ||
			return
	done
}

start_slurmds()
{
	local i

	for ((i = 1; i <= o_nodes; i++)); do
		slurmd -N "n$i" >"/var/log/slurmd-n$i.out" 2>&1 ||
			fail "slurmd-n$i.log" "slurmd of n$i does not start" ||
			return
	done
}

# node_states: "NAME STATE" of each node
node_states()
{
	timeout 10 scontrol -o show node 2>/dev/null | sed -n \
		's/^NodeName=\([^ ]*\) .* State=\([^ ]*\) .*/\1 \2/p'
}

all_idle()
{
	[ "$(node_states | grep -c ' IDLE$')" -ge "$o_nodes" ]
}

wait_idle()
{
	local name state

	until_answers slurmctld all_idle && return
	lives slurmctld || fail slurmctld.log "slurmctld has ended" || return
	read -r name state < <(node_states | grep -v ' IDLE$')
	fail "slurmd-$name.log" "node $name is ${state:-unknown}, not IDLE," \
		"after $start_s s"
}

# start_policyd: if EGS is installed and there is an egs.conf
start_policyd()
{
	local program=/opt/egs/sbin/egs-policyd socket=/run/egs/policyd.sock

	{ [ -x $program ] && [ -f /etc/slurm/egs.conf ]; } || return 0
	if [ "$o_units" -eq 1 ]; then
		with_unit egs-policyd $program
	else
		become slurm $program
	fi >>/var/log/egs-policyd.log 2>&1 &
	until_true listens_or_ended $socket $!
	[ -S $socket ] || fail egs-policyd.log "egs-policyd does not start"
}

listens_or_ended()
{
	[ -S "$1" ] || ! kill -0 "$2"
}

boot()
{
	start_munged && start_accounting && start_slurmctld &&
		start_nodeds && start_slurmds && wait_idle && start_policyd && : >$say/ready
}

# bash reaps every process that ends while it waits, also orphans.
reap()
{
	while :; do
		sleep 1000000 &
		wait $!
	done
}

# shellcheck source=/dev/null
. $say/settings
boot
reap
