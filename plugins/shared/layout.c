/* layout.c - are slurmctld's job records laid out as this plugin expects? */
#include "plugins/shared/layout.h"

#include <stdatomic.h>
#include <unistd.h>

enum layout { UNKNOWN, OURS, OTHER };

enum { DOUBTS_MAX = 5 };

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

/* Records that are being made and copies are not found by their ids. */
static bool is_registered(const job_record_t *job)
{
	return job->job_id && find_job_record(job->job_id) == job;
}

/* Many records that slurmctld does not find, and none that it finds: the member
 * is no id.  A reservation looks for nodes with a record that has details and
 * no id, any number of times.
 */
static enum layout count_doubt(const job_record_t *job)
{
	static _Atomic unsigned int doubts;

	if (!job->job_id && job->details)
		return UNKNOWN;
	return atomic_fetch_add(&doubts, 1) < DOUBTS_MAX ? UNKNOWN : OTHER;
}

static enum layout check_layout(const job_record_t *job)
{
	if (job->magic != JOB_MAGIC || !EGS_HAS_SAME_IDS(job) ||
	    (job->details && !has_details(job)) || !has_partition(job))
		return OTHER;
	return job->details && is_registered(job) ? OURS : count_doubt(job);
}

bool egs_layout_is_ours(const job_record_t *job)
{
	static _Atomic enum layout known = UNKNOWN;
	enum layout layout = atomic_load_explicit(&known, memory_order_relaxed);

	if (layout != UNKNOWN)
		return layout == OURS;
	layout = check_layout(job);
	if (layout == UNKNOWN)
		return false;
	if (atomic_exchange(&known, layout) != layout && layout == OTHER)
		error("%s: slurmctld has other job records than the source of "
		      "Slurm %s that EGS was built with; EGS does nothing, "
		      "and Slurm works without it",
		      plugin_type, SLURM_VERSION_STRING);
	return layout == OURS;
}
