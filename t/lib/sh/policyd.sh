# shellcheck shell=bash disable=SC2154 # cluster.sh
# policyd.sh - egs-policyd in the current cluster, beside cluster.sh
#
#   policyd_up [VARIABLE=VALUE]...	and wait until it has looked at Slurm
#   launch_policyd [VARIABLE=VALUE]...	start it and do not wait
#   end_policyd SIGNAL	and wait until it is gone
#   ask_policyd VERB [NAME=VALUE]...	t/lib/check/ask-policyd, as root
#   policyd_is NAME VALUE	a value of "ping"
#   wait_policyd NAME VALUE	until it is so
#   policyd_said	what it said since mark_policyd_log
#   wait_said REGEX	until it has said that since then
#   stored STATEMENT	of SQL, on the state of a daemon that does not run

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

end_policyd()
{
	as root pkill "-$1" -x egs-policyd
	wait_until 60 'egs-policyd is gone' no_policyd
}

no_policyd()
{
	! as root pgrep -x egs-policyd >/dev/null
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

# The mark is the cluster's: another one has a log of its own.
mark_policyd_log()
{
	wc -l <"$(policyd_log_file)" >"$notes/$cluster.mark"
}

policyd_said()
{
	tail -n "+$(($(cat "$notes/$cluster.mark") + 1))" "$(policyd_log_file)"
}

has_said()
{
	policyd_said | grep -qE "$1"
}

wait_said()
{
	wait_until 90 "egs-policyd says '$1'" has_said "$1" ||
		{ policyd_said; return 1; }
}

stored()
{
	cc -o "$EGS_SANDBOX_DIR/$cluster/run/sandbox/sql" \
		"$srcdir/t/lib/data/sql.c" -lsqlite3 &&
	as root /run/sandbox/sql /var/lib/egs/state "$1"
}
