/* preempt_egs.c - which job preempts which, in which order, how and when
 *
 * Slurm loads one preempt plugin, so preempt/egs is stacked on another, the
 * base (PreemptBase= of egs.conf).  preempt/egs answers for a pair of jobs if
 * the daemon decided about both.  For all other pairs, and while the daemon is
 * down, the base answers.
 *
 * Slurm calls these functions for every job each time it tests a pending one,
 * from the schedulers and from threads that serve squeue.  So they only read
 * the mapped table, without a lock or a system call.
 */
#include "common/conf/policy_conf.h"
#include "plugins/compat/compat.h"
#include "plugins/preempt/base.h"
#include "plugins/shared/decisions.h"
#include "plugins/shared/layout.h"
#include "plugins/shared/make_ready.h"
#include "plugins/shared/ring.h"

EGS_PLUGIN("EGS tiers, quotas and loans", "preempt/egs");

int init(void)
{
	egs_decisions_init(plugin_type);
	egs_base_load(plugin_type, egs_decisions_preempt_base());
	return SLURM_SUCCESS;
}

/* A managed job that is suspended cannot save; the daemon does not preempt it.
 */
static bool is_suspended_managed(const job_record_t *victim)
{
	struct egs_table_job v;

	return IS_JOB_SUSPENDED(victim) && egs_decision_get(victim, &v);
}

/* PreemptMode=OFF of a partition protects its jobs, as on stock Slurm. */
static bool is_preemption_off(const job_record_t *victim)
{
	return victim->part_ptr &&
	       victim->part_ptr->preempt_mode == PREEMPT_MODE_OFF;
}

bool preempt_p_preemptable(job_record_t *victim, job_record_t *requester)
{
	struct egs_table_job v;
	struct egs_pending_decision p;

	/* Most pending jobs can preempt no job.  Then only the base could
	 * allow a preemption, and its call is cheaper than a lookup.
	 */
	if (egs_decision_cannot_take(requester) &&
	    !egs_base_is_preemptable(victim, requester))
		return false;
	/* With thousands of jobs the victim's details are not in a cache.
	 * Prefetch them during the lookup of the requester.
	 */
	__builtin_prefetch(&victim->details->submit_time);
	p = egs_decision_for_pending(requester);
	if (!p.may_take && !egs_base_is_preemptable(victim, requester))
		return false;
	if (!p.has_row)
		return !is_suspended_managed(victim);
	if (!IS_JOB_RUNNING(victim) && !IS_JOB_SUSPENDED(victim))
		return false;
	if (!egs_decision_get(victim, &v))
		return egs_base_is_preemptable(victim, requester);
	return IS_JOB_RUNNING(victim) && !is_preemption_off(victim) &&
	       egs_table_may_take(&p.row, &v, time(NULL));
}

/* Slurm uses this only to sort the queue, and a sort needs one order over all
 * jobs.  EGS orders the queue by the site factor, so only the base answers.
 */
bool preempt_p_job_preempt_check(job_queue_rec_t *requester,
				 job_queue_rec_t *victim)
{
	return egs_base_preempt_check(requester, victim);
}

/* Slurm calls this again at the end of the grace period. */
static uint16_t get_mode(job_record_t *job)
{
	struct egs_table_job row;

	if (!egs_decision_while_preempted(job, &row))
		return egs_base_get_mode(job);
	switch (row.fate_and_flags & EGS_TABLE_FATE_MASK) {
	case EGS_FATE_REQUEUE:
		return PREEMPT_MODE_REQUEUE;
	case EGS_FATE_CANCEL:
		return PREEMPT_MODE_CANCEL;
	default:
		return PREEMPT_MODE_OFF;
	}
}

/* Smaller is preempted first.  A job that is being preempted comes first:
 * otherwise Slurm would preempt a second job for the same GPUs.
 */
static uint32_t get_prio(job_record_t *job)
{
	struct egs_table_job row;
	struct egs_take_view r;

	if (egs_layout_is_ours(job) && job->preempt_time)
		return 0;
	if (!egs_decision_get(job, &row))
		return egs_base_get_prio(job);
	r = egs_table_take_view(&row);
	return egs_victim_key(&r, row.cost_gpu_s);
}

/* Since 24.05 an exit in the grace period counts as a failed launch, and after
 * MaxBatchRequeue of them the job is held (24.11 job_mgr.c:6108, :5988).  A job
 * that is preempted was launched successfully.
 */
static void reset_launch_count(job_record_t *job)
{
	if (job->batch_flag > 1)
		job->batch_flag = 1;
}

/* Slurm calls this at the beginning of the grace period.  It then sends the
 * job's own signal, unless WARN_SENT is set; the time limit may have set that.
 * A job that is still configuring has nothing to save.
 */
static uint32_t begin_grace_period(job_record_t *job)
{
	struct egs_table_job row;

	if (!egs_decision_get(job, &row))
		return egs_base_get_grace_time(job);
	egs_make_ready_signal(job);
	job->warn_flags &= (uint16_t)~WARN_SENT;
	reset_launch_count(job);
	egs_ring_job(egs_decisions_run_dir(), job->job_id,
		     EGS_DOORBELL_PREEMPT_REQUESTED);
	return IS_JOB_CONFIGURING(job) ? 0 : row.grace_s;
}

#if EGS_PREEMPT_GETTERS

uint16_t preempt_p_get_mode(job_record_t *job)
{
	return get_mode(job);
}

uint32_t preempt_p_get_prio(job_record_t *job)
{
	return get_prio(job);
}

uint32_t preempt_p_get_grace_time(job_record_t *job)
{
	return begin_grace_period(job);
}

#else

/* Slurm calls this for each job that is submitted or tested, and visits all
 * jobs if the answer is true (22.05 preempt.c:293).  The sort of the queue
 * caches the answer, but only the base matters there.
 */
static bool is_enabled(void)
{
	return egs_base_is_loaded() || egs_decisions_has_victim();
}

int preempt_p_get_data(job_record_t *job, slurm_preempt_data_type_t type,
		       void *data)
{
	switch (type) {
	case PREEMPT_DATA_ENABLED:
		*(bool *)data = is_enabled();
		return SLURM_SUCCESS;
	case PREEMPT_DATA_MODE:
		*(uint16_t *)data = get_mode(job);
		return SLURM_SUCCESS;
	case PREEMPT_DATA_PRIO:
		*(uint32_t *)data = get_prio(job);
		return SLURM_SUCCESS;
	case PREEMPT_DATA_GRACE_TIME:
		*(uint32_t *)data = begin_grace_period(job);
		return SLURM_SUCCESS;
	default:
		return SLURM_ERROR;
	}
}

#endif
