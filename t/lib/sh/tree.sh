# shellcheck shell=bash
# tree.sh - for tests of the source tree and of programs without a cluster
#
#	. "$(dirname "$0")/lib/sh/tree.sh"
#	holds 'no file is longer than 600 lines' long_files "$srcdir"
#	catches 'a file of 601 lines' long_files "$tmp/planted"
#	done_testing
#
# A check is a command that prints a line for each fault and fails only if it
# could not do its work.
#   holds TITLE CHECK...    passes if CHECK finds nothing; otherwise shows what
#                           it found as comments
#   catches TITLE CHECK...  passes if CHECK finds something: proves with a
#                           planted fault that the check still works
#   does TITLE COMMAND...   passes if COMMAND succeeds; otherwise shows the end
#                           of its output
#   done_testing            prints the plan; its status is the test's
#   tree_files TOP          the files that belong to the project at TOP, one a
#                           line, by their paths from there
#   build_of V              the build directory of V; with contrib/lib/common.sh
#   steady COMMAND...       run a program with sanitizers
#   retry COMMAND...        wait up to a minute until COMMAND succeeds
#   configure_in DIR ARG... configure the checkout in the new DIR as EGS_BUILD
#                           was, and with ARG
#
# Sets, unless the caller has: srcdir (the checkout) and EGS_BUILD (its native
# build directory).  tmp is an empty directory, removed at the end of the test.

srcdir=$(cd "${srcdir:-$(dirname "$0")/..}" && pwd) || exit 1
EGS_BUILD=${EGS_BUILD:-$srcdir/build/22.05}
tmp=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
tests_run=0
tests_failed=0

build_of()
{
	if [ "$1" = "$(egs_native)" ]; then
		echo "$EGS_BUILD"
	else
		echo "$srcdir/build/$1"
	fi
}

# tap_line PASSED TITLE FILE: print one result, and FILE if it is a failure.
tap_line()
{
	tests_run=$((tests_run + 1))
	if [ "$1" = yes ]; then
		echo "ok $tests_run - $2"
		return
	fi
	tests_failed=$((tests_failed + 1))
	echo "not ok $tests_run - $2"
	tail -n 60 "$3" | sed 's/^/# /'
}

holds()
{
	local words=$1 pass=no

	"${@:2}" >"$tmp/found" 2>&1 && [ ! -s "$tmp/found" ] && pass=yes
	tap_line $pass "$words" "$tmp/found"
}

catches()
{
	local words=$1 pass=no

	"${@:2}" >"$tmp/found" 2>&1 && [ -s "$tmp/found" ] && pass=yes
	tap_line $pass "catches $words" "$tmp/found"
}

does()
{
	local words=$1 pass=no

	"${@:2}" >"$tmp/found" 2>&1 </dev/null && pass=yes
	tap_line $pass "$words" "$tmp/found"
}

done_testing()
{
	echo "1..$tests_run"
	[ "$tests_run" -gt 0 ] && [ "$tests_failed" -eq 0 ]
}

# Ask git; without git, take all files except those that .gitignore names, which
# are at the top.
tree_files()
{
	(
		cd "$1" || exit
		if [ -e .git ] && git -c safe.directory='*' ls-files \
			>"$tmp/files" 2>"$tmp/git-says"; then
			cat "$tmp/files"
		else
			{ echo ./.git; sed 's,^/,./,; s,/$,,' .gitignore; } \
				>"$tmp/ignored"
			find . -type f | grep -vwFf "$tmp/ignored" | cut -c3-
		fi | while read -r f; do
			[ ! -f "$f" ] || echo "$f"
		done | sort
	)
}

# Where addresses vary by more bits than the sanitizers of this compiler know
# of, a program fails now and then for no fault of its own.
steady()
{
	if setarch -R true; then
		setarch -R "$@"
	else
		"$@"
	fi
}

retry()
{
	for _ in $(seq 300); do
		! "$@" || return 0
		sleep 0.2
	done
	return 1
}

configure_in()
{
	(
		mkdir "$1" && cd "$1" && shift &&
			eval "set -- $("$EGS_BUILD/config.status" --config) \"\$@\"" &&
			"$srcdir/configure" -q "$@"
	)
}
