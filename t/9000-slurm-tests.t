#!/bin/bash
# 9000-slurm-tests.t - some of Slurm's own tests, with EGS and without
# long: 60 s, two clusters, and the second with and without the daemon
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='what passes on stock Slurm passes with EGS'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"

# pass_everywhere NUMBER: without EGS, with it, and without the daemon.
pass_everywhere()
{
	grep -qE "^test$1 +pass +pass +pass " table
}

test_expect_success 'some of its tests run three times' '
	"$srcdir/contrib/slurm-tests" --short --name=t5570 --logs="$PWD" \
		>table 2>&1 || {
		cat table
		return 1
	}
'

for number in 1.62 17.4 17.22 39.1 39.4; do
	test_expect_success "test$number passes" '
		pass_everywhere $number || {
			cat table
			return 1
		}
	'
done

test_done
