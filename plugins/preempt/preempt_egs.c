/* preempt_egs.c - who yields to whom, in which order, how, and after how long
 *
 * Slurm has room for one preempt plugin, so ours stands on another: a pair is
 * ours when the daemon decided about both jobs, and every other pair, and all
 * of them when the daemon is away, are answered by PreemptBase= of egs.conf.
 *
 * Slurm asks for every job in the system each time it looks at a pending one,
 * from the schedulers and from threads that answer squeue: everything here is
 * a look into the mapped table, without a lock or a system call.
 */
#include "common/conf/policy_conf.h"
#include "plugins/compat/compat.h"
#include "plugins/preempt/base.h"
#include "plugins/shared/decisions.h"
#include "plugins/shared/ring.h"

EGS_PLUGIN("EGS tiers, quotas and loans", "preempt/egs");

int init(void)
{
	egs_decisions_init(plugin_type);
	egs_base_load(plugin_type, egs_decisions_preempt_base());
	return SLURM_SUCCESS;
}

/* A job of ours that is suspended cannot save, and the daemon spares it. */
static bool is_suspended_managed(const job_record_t *victim)
{
	struct egs_table_job v;

	return IS_JOB_SUSPENDED(victim) && egs_decision_get(victim, &v);
}

bool preempt_p_preemptable(job_record_t *victim, job_record_t *taker)
{
	struct egs_table_job v;
	struct egs_pending_decision p;

	/* Most who wait can take from nobody: then only the base could, and it
	 * is the quicker to ask.
	 */
	if (egs_decision_cannot_take(taker) &&
	    !egs_base_is_preemptable(victim, taker))
		return false;
	/* Of thousands of jobs no cache has all: its details are on their
	 * way while we look up the taker.
	 */
	__builtin_prefetch(&victim->details->submit_time);
	p = egs_decision_for_pending(taker);
	if (!p.may_take && !egs_base_is_preemptable(victim, taker))
		return false;
	if (!p.has_row)
		return !is_suspended_managed(victim);
	if (!IS_JOB_RUNNING(victim) && !IS_JOB_SUSPENDED(victim))
		return false;
	if (!egs_decision_get(victim, &v))
		return egs_base_is_preemptable(victim, taker);
	return IS_JOB_RUNNING(victim) &&
	       egs_table_may_take(&p.row, &v, time(NULL));
}

/* Only the sort of the queue asks this, and a sort needs one order over all
 * jobs: ours is the site factor, so the base alone may add to it.
 */
bool preempt_p_job_preempt_check(job_queue_rec_t *taker,
				 job_queue_rec_t *victim)
{
	return egs_base_preempt_check(taker, victim);
}

/* Slurm asks again when the grace is over. */
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

/* Smaller goes first.  A job that was asked already is chosen again before
 * any other, or a second one would be hit for the same GPUs.
 */
static uint32_t get_prio(job_record_t *job)
{
	struct egs_table_job row;
	struct egs_take_view r;

	if (job->preempt_time)
		return 0;
	if (!egs_decision_get(job, &row))
		return egs_base_get_prio(job);
	r = egs_table_take_view(&row);
	return egs_victim_key(&r, row.cost_gpu_s);
}

/* Since 24.05 an exit in the grace counts as a launch that failed, and after
 * MaxBatchRequeue of them the job is held (24.11 job_mgr.c:6108, :5988).  A job
 * that is asked to go has been launched.
 */
static void reset_launch_count(job_record_t *job)
{
	if (job->batch_flag > 1)
		job->batch_flag = 1;
}

/* Slurm asks when the grace begins, and then sends the job's own signal, if it
 * has not been sent already; its time limit may have done that.  A job whose
 * nodes are being made ready has nothing to save.
 */
static uint32_t begin_grace_period(job_record_t *job)
{
	struct egs_table_job row;

	if (!egs_decision_get(job, &row))
		return egs_base_get_grace_time(job);
	job->warn_flags &= (uint16_t)~WARN_SENT;
	reset_launch_count(job);
	egs_ring_job(egs_decisions_run_dir(), job->job_id,
		     EGS_DOORBELL_PREEMPT_REQUESTED);
	return IS_JOB_CONFIGURING(job) ? 0 : row.grace_s;
}

#if EGS_PREEMPT_GETTERS

uint16_t preempt_p_get_mode(job_record_t *job)
{
	return mode_of(job);
}

uint32_t preempt_p_get_prio(job_record_t *job)
{
	return prio_of(job);
}

uint32_t preempt_p_get_grace_time(job_record_t *job)
{
	return grace_of(job);
}

#else

/* Slurm asks for each job that is submitted or tested, and walks through all
 * jobs if it hears yes (22.05 preempt.c:293).  The sort of the queue keeps the
 * answer, but only a base has something to say there.
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
