# shellcheck shell=bash
# egsctl.sh - for tests of egsctl: run it and compare its output
#
# Source it after tree.sh.  The test continues in $tmp.

egsctl=$EGS_BUILD/cmd/egsctl/egsctl
cd "${tmp:?}" || exit 1

# run ARG...: run egsctl with ARG; exit code in $rc, output in out and err.
run()
{
	timeout 60 "$egsctl" "$@" >out 2>err
	rc=$?
}

# ends TITLE N: expect N as the exit code of the last run.
ends()
{
	does "$1" test "$rc" = "$2"
}

# prints TITLE, complains TITLE: expect stdin as its output, or on its stderr.
prints()
{
	cat >want
	does "$1" diff want out
}

complains()
{
	cat >want
	does "$1" diff want err
}

# as_user USER PRIVATE REPORT MORE: the report of November 2026 that the daemon
# requests for USER; $conf and $state are its egs.conf and StateDir
as_user()
{
	local conf=${conf:-egs.conf}

	echo "{\"report\": \"$3\", \"dir\": \"$PWD/${state:-state}\", \"user\": \"$1\",
		\"me\": \"$1\", \"private\": \"$2\", \"unit\": \"seconds\",
		\"from\": 1793491200, \"to\": 1794268800$4}" |
		"$EGS_BUILD/policyd/egs-policyd" -f "$conf" --report >out
}
