#!/bin/bash
# 0110-calls.t - what plugins do to the kernel, and to the plugin below them
#
# There is no system call where Slurm asks often, and one where it tells us.
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
		does "$v: $plugin/egs has slurmctld's place to run in" \
			egs_in "$v" make -s -C "$(build_of "$v")" \
			"t/slurm/$plugin"
		does "$v: $plugin/egs makes system calls only where it may" \
			egs_in "$v" "$(build_of "$v")/t/slurm/$plugin"
	done
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

does 'PreemptBase is asked about jobs of others' whole
does 'and about pairs of which one is not ours, suspended or not' others
does 'and not about two of ours' ours
does 'one of ours that is suspended is nobody'"'"'s victim' stopped
does 'half a plugin is no plugin' half

done_testing
