#!/bin/bash
# 0110-calls.t - plugins in a stand-in for slurmctld: their system calls, their calls
# of the plugin below them, and what they do to records
#
# No system call is allowed where Slurm calls often, and one where Slurm reports
# an event.
# Plugins run inside a process that the kernel ends at any system call; only
# a datagram that does not wait is let through, where there is to be one.
. "$(dirname "$0")/lib/sh/tree.sh"
. "$srcdir/contrib/lib/common.sh"

# has_inside V: it was built with a source tree of Slurm.
has_inside()
{
	grep -q '^t_slurm_select_LDADD' "$(build_of "$1")/Makefile"
}

if ! has_inside "$(egs_native)"; then
	echo "1..0 # SKIP built without a source tree of Slurm"
	exit 0
fi

for v in ${EGS_TEST_VERSIONS:-$(egs_versions)}; do
	has_inside "$v" || continue
	for plugin in preempt select; do
		does "$v: $plugin/egs loads in a stand-in for slurmctld" \
			egs_in "$v" make -s -C "$(build_of "$v")" \
			"t/slurm/$plugin"
		does "$v: $plugin/egs makes system calls only where it may" \
			egs_in "$v" "$(build_of "$v")/t/slurm/$plugin"
	done
	does "$v: the test of nodes for select/egs is built" \
		egs_in "$v" make -s -C "$(build_of "$v")" t/slurm/select_nodes
	does "$v: select/egs lets jobs start only on nodes that they may use" \
		egs_in "$v" "$(build_of "$v")/t/slurm/select_nodes"
	does "$v: job_submit/egs loads in a stand-in for slurmctld" \
		egs_in "$v" make -s -C "$(build_of "$v")" t/slurm/update
	does "$v: job_submit/egs changes only what it must in a record" \
		egs_in "$v" "$(build_of "$v")/t/slurm/update"
done

# base NAME...: preempt/qos with these functions, which say yes.
base()
{
	local name

	for name in "$@"; do
		echo "int $name(void) { return 1; }"
	done | cc -shared -fPIC -x c -o "$tmp/base.so" - &&
	"$EGS_BUILD/t/slurm/preempt" "$tmp/base.so" >"$tmp/said" 2>&1 &&
	cat "$tmp/said"
}

# half: the sentence about one that lacks a function, and it is not used.
half()
{
	base preempt_p_preemptable preempt_p_get_data &&
	grep -q 'no function preempt_p_job_preempt_check(); the base' "$tmp/said" &&
	grep -qx 'not asked' "$tmp/said"
}

whole()
{
	base preempt_p_preemptable preempt_p_job_preempt_check \
		preempt_p_get_data && grep -qx asked "$tmp/said"
}

# others: pairs of which one is not ours; a job that is suspended holds GPUs.
others()
{
	grep -qx 'ours takes: asked' "$tmp/said" &&
	grep -qx 'ours on loan takes: asked' "$tmp/said" &&
	grep -qx 'suspended: asked' "$tmp/said" &&
	grep -qx 'ours takes from suspended: asked' "$tmp/said"
}

ours()
{
	grep -qx 'both ours, the weaker takes: not asked' "$tmp/said" &&
	grep -qx 'both ours, suspended: not asked' "$tmp/said"
}

# stopped: it would be spared, and asked again, without end.
stopped()
{
	grep -qx 'ours is suspended: not asked' "$tmp/said"
}

# other_records more|less: one sentence in the log, and answers as on stock Slurm.
other_records()
{
	"$EGS_BUILD/t/slurm/preempt" "$1" >"$tmp/said" 2>"$tmp/log" &&
	cat "$tmp/said" "$tmp/log" &&
	[ "$(grep -c 'other job records than the source of Slurm' "$tmp/log")" = 1 ]
}

does 'a plugin for fewer members of a job record says so and does nothing' \
	other_records more
does 'a plugin for more members of a job record says so and does nothing' \
	other_records less
does 'PreemptBase decides about jobs that EGS does not manage' whole
does 'PreemptBase decides about pairs with one unmanaged job' others
does 'PreemptBase does not decide about two managed jobs' ours
does 'a suspended managed job is never a victim' stopped
does 'a plugin that lacks symbols is not used' half

done_testing
