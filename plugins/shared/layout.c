/* layout.c - are slurmctld's job records laid out as this plugin expects? */
#include "plugins/shared/layout.h"

#include <stdatomic.h>
#include <unistd.h>

enum layout { UNKNOWN, OURS, OTHER };

/* Could 'p' point to allocated memory?  With other offsets it may be a time or
 * a number, which must not be used as an address.  Memory is where the heap
 * is, or where threads have their stacks.
 */
static bool is_plausible_pointer(const void *p)
{
	uintptr_t at = (uintptr_t)p, heap = (uintptr_t)sbrk(0);
	uintptr_t stack = (uintptr_t)&at;

	return at % sizeof(void *) == 0 &&
	       (at >> 40 == heap >> 40 || at >> 40 == stack >> 40);
}

static bool has_details(const job_record_t *job)
{
	return is_plausible_pointer(job->details) &&
	       job->details->magic == DETAILS_MAGIC;
}

static bool has_partition(const job_record_t *job)
{
	return !job->part_ptr || (is_plausible_pointer(job->part_ptr) &&
				  job->part_ptr->magic == PART_MAGIC);
}

static enum layout check_layout(const job_record_t *job)
{
	return job->magic == JOB_MAGIC && EGS_HAS_SAME_IDS(job) &&
			       has_details(job) && has_partition(job)
		       ? OURS
		       : OTHER;
}

bool egs_layout_is_ours(const job_record_t *job)
{
	static _Atomic enum layout known = UNKNOWN;
	enum layout layout = atomic_load_explicit(&known, memory_order_relaxed);

	if (layout != UNKNOWN)
		return layout == OURS;
	if (job->magic == JOB_MAGIC && !job->details)
		return true; /* the record is being made */
	layout = check_layout(job);
	if (atomic_exchange(&known, layout) != layout && layout == OTHER)
		error("egs: slurmctld has other job records than the source of "
		      "Slurm %s that EGS was built with; EGS does nothing, "
		      "and Slurm works without it",
		      SLURM_VERSION_STRING);
	return layout == OURS;
}
