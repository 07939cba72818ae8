#!/bin/bash
# 0420-examples.t - the examples are valid programs and in egs(7)
. "$(dirname "$0")/lib/sh/tree.sh"

examples=$srcdir/contrib/examples

# bad_scripts: what bash or Python does not understand.
bad_scripts()
{
	local file

	for file in "$1"/*.sh "$1"/*.sbatch; do
		bash -n "$file" 2>&1 || echo "$file: no script"
	done
	for file in "$1"/*.py; do
		python3 -c 'import sys
compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' "$file" 2>&1
	done
	return 0
}

# unmentioned: examples that neither README.md nor another one speaks of.
unmentioned()
{
	local file

	for file in "$examples"/*; do
		grep -qF "${file##*/}" "$srcdir/README.md" \
			"$srcdir"/man/egs.7 || echo "${file##*/}"
	done
}

mkdir "$tmp/bad"
echo 'if true; do' >"$tmp/bad/x.sh"
echo 'fi' >"$tmp/bad/x.sbatch"
echo 'def f(:' >"$tmp/bad/x.py"
catches 'a file that is no script' bad_scripts "$tmp/bad"
holds 'every example is a script' bad_scripts "$examples"
holds 'egs(7) mentions every example' unmentioned
done_testing
