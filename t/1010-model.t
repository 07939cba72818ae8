#!/bin/bash
# 1010-model.t - loans and claims are right in every reachable state of the model
# long: 30 s, spin visits every state of seven models
#
# The model is t/model/loans.pml; spin makes a program that visits all its
# states.  With a wrong rule planted, the program must find a violation.
. "$(dirname "$0")/lib/sh/tree.sh"

if ! command -v spin >/dev/null; then
	echo '1..0 # SKIP spin is not installed'
	exit 0
fi

# violated [-DWORD]...: print the assertions of the model that do not hold.  Fails
# if the search did not finish.
violated()
{
	local name="$*" dir out level=-O1

	# a planted fault is found sooner than the compiler would optimize
	[[ $name != *WRONG* ]] || level=-O0
	dir=$tmp/model${name// /} out=$dir/out
	mkdir -p "$dir" && cd "$dir" &&
		spin -a "$@" "$srcdir/t/model/loans.pml" &&
		"${CC:-cc}" -w $level -DSAFETY -DNOREDUCE -DMEMLIM=1024 \
			-o pan pan.c &&
		./pan -m1000000 >"$out" || return
	grep 'assertion violated' "$out" && return
	grep -q 'errors: 0' "$out" && ! grep -qE 'max search depth|not completed' "$out"
}

holds 'no pair changes places twice, no claim is lost, owners get their quota' \
	violated
holds 'an owner waits for MinRuntime at most if all jobs act at once' \
	violated -DEAGER
catches 'owned jobs that stay owned for ever' \
	violated -DEAGER -DWRONG_FOREVER
catches 'owned jobs that are on loan before their MinRuntime is over' \
	violated -DWRONG_BOUND
catches 'claims that others ignore' violated -DWRONG_CLAIM
catches 'owners that must wait for the MinRuntime of a loan' violated -DWRONG_RECALL
catches 'jobs that count as owned whatever their team uses' \
	violated -DWRONG_FLAGS

done_testing
