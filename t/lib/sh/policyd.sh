# shellcheck shell=bash disable=SC2154 # cluster.sh
# policyd.sh - egs-policyd in the current cluster, beside cluster.sh
#
#   policyd_up [VARIABLE=VALUE]...	start it and wait until it has polled Slurm
#   launch_policyd [VARIABLE=VALUE]...	start it and do not wait
#   stop_policyd SIGNAL	send SIGNAL and wait until it is gone
#   port_is_taken	some program listens on its port
#   ask_policyd VERB [NAME=VALUE]...	t/lib/check/ask-policyd, as root
#   policyd_is NAME VALUE	a value in its answer to "ping"
#   wait_policyd NAME VALUE	wait until policyd_is
#   mark_policyd_log	policyd_logged starts here
#   policyd_logged	print what it has logged since the mark
#   wait_policyd_log REGEX	wait until it has logged that since the mark
#   table_age	seconds since the daemon has last touched its decision table
#   wait_table_stale SECONDS	wait until the plugins, with StaleAfter=SECONDS,
#	ignore the decision table
#   run_sql STATEMENT	on the state file, while no daemon runs

launch_policyd()
{
	sandbox exec "$cluster" -- setpriv --reuid=slurm --regid=slurm \
		--clear-groups -- env "$@" /opt/egs/sbin/egs-policyd \
		>>"$(policyd_log_file)" 2>&1 </dev/null &
}

policyd_up()
{
	launch_policyd "$@"
	wait_policyd slurmctld up
}

stop_policyd()
{
	as root pkill "-$1" -x egs-policyd
	wait_until 60 'egs-policyd is gone' no_policyd
}

no_policyd()
{
	! as root pgrep -x egs-policyd >/dev/null
}

port_is_taken()
{
	as root ss -Hltn "sport = :6827" | grep -q LISTEN
}

ask_policyd()
{
	as root /srv/egs/t/lib/check/ask-policyd "$@"
}

policyd_is()
{
	ask_policyd ping | grep -qx "$1=$2"
}

wait_policyd()
{
	wait_until 90 "$1 of egs-policyd is $2" policyd_is "$1" "$2" ||
		{ ask_policyd ping; return 1; }
}

policyd_log_file()
{
	echo "$EGS_SANDBOX_DIR/$cluster/log/egs-policyd.log"
}

# Each cluster has a mark of its own, as it has a log of its own.
mark_policyd_log()
{
	wc -l <"$(policyd_log_file)" >"$notes/$cluster.mark"
}

policyd_logged()
{
	tail -n "+$(($(cat "$notes/$cluster.mark") + 1))" "$(policyd_log_file)"
}

policyd_has_logged()
{
	policyd_logged | grep -qE "$1"
}

wait_policyd_log()
{
	wait_until 90 "egs-policyd says '$1'" policyd_has_logged "$1" ||
		{ policyd_logged; return 1; }
}

# The heartbeat is the fourth number of eight bytes in the table (struct
# egs_table_file), in seconds since the epoch.
table_age()
{
	local beat

	beat=$(as root od -An -td8 -j24 -N8 /run/egs/table) &&
	echo $(($(date +%s) - beat))
}

table_is_older_than()
{
	[ "$(table_age)" -gt "$1" ]
}

wait_table_stale()
{
	wait_until 60 "the decision table is older than $1 s" \
		table_is_older_than "$1"
}

run_sql()
{
	cc -o "$EGS_SANDBOX_DIR/$cluster/run/sandbox/sql" \
		"$srcdir/t/lib/data/sql.c" -lsqlite3 &&
	as root /run/sandbox/sql /var/lib/egs/state "$1"
}
