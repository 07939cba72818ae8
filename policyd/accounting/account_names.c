/* account_names.c - forget names that no job has
 *
 * Users choose the names of jobs and workloads.
 */
#include "common/base/array.h"
#include "policyd/accounting/account_internal.h"

static void mark_running(struct egs_account *a,
			 const struct egs_running_job *job)
{
	const struct egs_account_alloc *as = &job->alloc;
	const uint32_t in_use[] = {
		job->name,   job->end_state, job->wait_reason, as->user,
		as->account, as->workload,   as->partition,    as->qos,
		as->team,    as->tier,	     as->phase,	       as->loan,
	};

	for (size_t i = 0; i < ARRAY_SIZE(in_use); i++)
		egs_intern_mark(&a->names, in_use[i]);
	for (uint32_t i = 0; i < as->ntypes; i++)
		egs_intern_mark(&a->names, as->type[i].type);
}

void egs_account_sweep_names(struct egs_account *a)
{
	if (!egs_intern_begin_sweep(&a->names))
		return;
	for (uint32_t slot = 0; slot < a->njobs; slot++) {
		const struct egs_tracked_job *tracked = &a->job[slot];

		egs_intern_mark(&a->names, tracked->wait_reason);
		egs_intern_mark(&a->names, tracked->partition);
		egs_intern_mark(&a->names, tracked->node_filter);
		if (tracked->running)
			mark_running(a, tracked->running);
	}
	for (size_t i = 0; i < a->nwrites; i++)
		mark_running(a, &a->write[i].job);
	egs_intern_end_sweep(&a->names);
}
