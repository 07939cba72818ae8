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
	egs_decide_init(plugin_type);
	egs_base_load(plugin_type, egs_decide_base());
	return SLURM_SUCCESS;
}

/* A job of ours that is suspended cannot save, and the daemon spares it. */
static bool is_stopped(const job_record_t *victim)
{
	struct egs_table_job v;

	return IS_JOB_SUSPENDED(victim) && egs_decided(victim, &v);
}

bool preempt_p_preemptable(job_record_t *victim, job_record_t *taker)
{
	struct egs_table_job v;
	struct egs_taker p;

	/* Most who wait can take from nobody: then only the base could, and it
	 * is the quicker to ask.
	 */
	if (egs_decided_harmless(taker) && !egs_base_preemptable(victim, taker))
		return false;
	/* Of thousands of jobs no cache has all: its details are on their
	 * way while we look up the taker.
	 */
	__builtin_prefetch(&victim->details->submit_time);
	p = egs_decided_taker(taker);
	if (!p.any && !egs_base_preemptable(victim, taker))
		return false;
	if (!p.decided)
		return !is_stopped(victim);
	if (!IS_JOB_RUNNING(victim) && !IS_JOB_SUSPENDED(victim))
		return false;
	if (!egs_decided(victim, &v))
		return egs_base_preemptable(victim, taker);
	return IS_JOB_RUNNING(victim) &&
	       egs_table_may_take(&p.row, &v, time(NULL));
}

/* Only the sort of the queue asks this, and a sort needs one order over all
 * jobs: ours is the site factor, so the base alone may add to it.
 */
bool preempt_p_job_preempt_check(job_queue_rec_t *taker,
				 job_queue_rec_t *victim)
{
	return egs_base_check(taker, victim);
}

/* Slurm asks again when the grace is over. */
static uint16_t mode_of(job_record_t *job)
{
	struct egs_table_job row;

	if (!egs_decided_asked(job, &row))
		return egs_base_mode(job);
	switch (row.mode & EGS_TABLE_FATE) {
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
static uint32_t prio_of(job_record_t *job)
{
	struct egs_table_job row;
	struct egs_row r;

	if (job->preempt_time)
		return 0;
	if (!egs_decided(job, &row))
		return egs_base_prio(job);
	r = egs_table_row(&row);
	return egs_victim_place(&r, row.cost);
}

/* Since 24.05 an exit in the grace counts as a launch that failed, and after
 * MaxBatchRequeue of them the job is held (24.11 job_mgr.c:6108, :5988).  A job
 * that is asked to go has been launched.
 */
static void forgive_launches(job_record_t *job)
{
	if (job->batch_flag > 1)
		job->batch_flag = 1;
}

/* Slurm asks when the grace begins, and then sends the job's own signal, if it
 * has not been sent already; its time limit may have done that.  A job whose
 * nodes are being made ready has nothing to save.
 */
static uint32_t grace_of(job_record_t *job)
{
	struct egs_table_job row;

	if (!egs_decided(job, &row))
		return egs_base_grace(job);
	job->warn_flags &= (uint16_t)~WARN_SENT;
	forgive_launches(job);
	egs_ring(egs_decide_run_dir(), job->job_id, EGS_BELL_ASKED);
	return IS_JOB_CONFIGURING(job) ? 0 : row.grace_s;
}

#if EGS_PREEMPT_BY_KIND

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
	return egs_base_is_there() || egs_decide_any_victim();
}

int preempt_p_get_data(job_record_t *job, slurm_preempt_data_type_t type,
		       void *data)
{
	switch (type) {
	case PREEMPT_DATA_ENABLED:
		*(bool *)data = is_enabled();
		return SLURM_SUCCESS;
	case PREEMPT_DATA_MODE:
		*(uint16_t *)data = mode_of(job);
		return SLURM_SUCCESS;
	case PREEMPT_DATA_PRIO:
		*(uint32_t *)data = prio_of(job);
		return SLURM_SUCCESS;
	case PREEMPT_DATA_GRACE_TIME:
		*(uint32_t *)data = grace_of(job);
		return SLURM_SUCCESS;
	default:
		return SLURM_ERROR;
	}
}

#endif
