#!/bin/bash
# 9000-slurm-tests.t - some tests of Slurm, with EGS and without
# long: 60 s, two clusters, and the second with and without the daemon
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='tests of Slurm pass with EGS as on stock Slurm'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"

# pass_everywhere NUMBER: on stock, with EGS, and with EGS without its daemon.
pass_everywhere()
{
	grep -qE "^test$1 +pass +pass +pass " table
}

test_expect_success 'tests of Slurm run on stock, with EGS, and without egs-policyd' '
	"$srcdir/contrib/slurm-tests" --short --name=t9000 --logs="$PWD" \
		>table 2>&1 || {
		cat table
		return 1
	}
'

for number in 1.62 17.4 17.22 39.1 39.4; do
	test_expect_success "test$number of Slurm passes everywhere" '
		pass_everywhere $number || {
			cat table
			return 1
		}
	'
done

test_done
