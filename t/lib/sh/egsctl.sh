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
