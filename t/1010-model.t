#!/bin/bash
# 1010-model.t - loans and claims hold in every state that can be reached
# long: 30 s, spin visits every state of seven models
#
# The model is t/model/loans.pml; spin makes a program that visits all its
# states.  With a wrong rule planted, the same program has to find fault.
. "$(dirname "$0")/lib/sh/tree.sh"

if ! command -v spin >/dev/null; then
	echo '1..0 # SKIP spin is not installed'
	exit 0
fi

# violated [-DWORD]...: the promises of the model that do not hold.  Fails if the
# search could not be finished.
violated()
{
	local name="$*" dir out level=-O1

	# a fault is found before the compiler would be done with more
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
holds 'where nobody sleeps an owner waits for MinRuntime at most' \
	violated -DEAGER
catches 'owners that never lose what they own' \
	violated -DEAGER -DWRONG_FOREVER
catches 'owned jobs that are on loan before their MinRuntime is over' \
	violated -DWRONG_BOUND
catches 'claims that others ignore' violated -DWRONG_CLAIM
catches 'owners that MinRuntime holds off' violated -DWRONG_RECALL
catches 'jobs that pass for owners whatever their team has' \
	violated -DWRONG_FLAGS

done_testing
