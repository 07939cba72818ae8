/* site_factor_egs.c - the policy's order of the queue, in sprio's SITE column
 *
 * slurmctld calls this plugin when a job is submitted or updated, and for all
 * jobs once every PriorityCalcPeriod, with its job write lock held.  A job that
 * the daemon has not decided about keeps its factor.
 */
#include "plugins/compat/compat.h"
#include "plugins/shared/decisions.h"
#include "plugins/shared/layout.h"
#include "plugins/shared/ring.h"

EGS_PLUGIN("EGS order of the queue", "site_factor/egs");

int init(void)
{
	egs_decisions_init(plugin_type);
	return SLURM_SUCCESS;
}

static bool apply_site_factor(job_record_t *job)
{
	struct egs_table_job row;

	if (!egs_decision_get(job, &row))
		return false;
	job->site_factor = (uint32_t)((int64_t)NICE_OFFSET + row.site_factor);
	return true;
}

/* A newly submitted job has an id, but no row yet. */
void site_factor_p_set(job_record_t *job)
{
	if (!apply_site_factor(job) && egs_layout_is_ours(job) && job->job_id)
		egs_ring_job_limited(egs_decisions_run_dir(), job->job_id,
				     EGS_DOORBELL_SUBMIT);
}

static int update_pending_job(void *item, void *arg)
{
	job_record_t *job = item;

	(void)arg;
	if (IS_JOB_PENDING(job))
		apply_site_factor(job);
	return 0;
}

void site_factor_p_update(void)
{
	list_for_each(job_list, update_pending_job, NULL);
}

#if EGS_SITE_FACTOR_RECONFIG
void site_factor_p_reconfig(void)
{
}
#endif
