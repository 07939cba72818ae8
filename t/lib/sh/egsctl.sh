# shellcheck shell=bash
# egsctl.sh - for tests of egsctl: run it, and look at what came out
#
# Sourced behind tree.sh; the test goes on in $tmp.

egsctl=$EGS_BUILD/cmd/egsctl/egsctl
cd "${tmp:?}" || exit 1

# run ARG...: egsctl with ARG, its exit code in rc, its words in out and err.
run()
{
	timeout 60 "$egsctl" "$@" >out 2>err
	rc=$?
}

# ends WORDS N: the last run's exit code is N.
ends()
{
	does "$1" test "$rc" = "$2"
}

# prints WORDS, complains WORDS: its output or its errors are what is on stdin.
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
