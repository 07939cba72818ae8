#!/bin/bash
# 0110-calls.t - what plugins do to the kernel, and to the plugin below them
#
# There is no system call where Slurm asks often, and one where it tells us.
# Plugins run inside a process that the kernel ends at any system call; only
# a datagram that does not wait is let through, where there is to be one.
. "$(dirname "$0")/lib/tree.sh"

if ! grep -q '^t_slurm_select_LDADD' "$EGS_BUILD/Makefile"; then
	echo "1..0 # SKIP built without a source tree of Slurm"
	exit 0
fi

# quiet PROGRAM: its own tests pass, or cannot be made here.
quiet()
{
	"$EGS_BUILD/t/slurm/$1"
}

for plugin in preempt select; do
	does "$plugin/egs has slurmctld's place to run in" \
		make -s -C "$EGS_BUILD" "t/slurm/$plugin"
	does "$plugin/egs makes system calls only where it may" quiet $plugin
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
	grep -q 'it has no preempt_p_job_preempt_check(); nothing' "$tmp/said" &&
	grep -qx 'not asked' "$tmp/said"
}

whole()
{
	base preempt_p_preemptable preempt_p_job_preempt_check \
		preempt_p_get_data && grep -qx asked "$tmp/said"
}

does 'PreemptBase is asked about jobs of others' whole
does 'half a plugin is no plugin' half

done_testing
