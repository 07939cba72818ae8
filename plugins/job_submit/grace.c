/* grace.c - a job was asked to go, and the daemon knows better by now */
#include "plugins/job_submit/grace.h"

#include "plugins/compat/gres.h"
#include "plugins/shared/decisions.h"
#include "plugins/shared/ring.h"

/* As if nobody had asked.  Slurm sets the end by start and limit only for a
 * job that is not being preempted, and forgets the time it was suspended
 * (22.05 job_mgr.c:18605); the signal for the end of its time is still to
 * come.
 */
static int withdraw_component(void *item, void *arg)
{
	job_record_t *job = item;

	(void)arg;
	if (!job->preempt_time ||
	    !(IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job)))
		return 0;
	job->preempt_time = 0;
	job_end_time_reset(job);
	job->end_time += job->tot_sus_time;
	job->end_time_exp = job->end_time;
	job->bit_flags &= ~(uint64_t)EGS_GRACE_PREEMPT;
	job->warn_flags &= (uint16_t)~WARN_SENT;
	last_job_update = time(NULL);
	info("%pJ: need not go any more, its time limit is its own again", job);
	return 0;
}

/* A job that has chosen victims chooses no others for a while (22.05
 * node_scheduler.c:2553): one who still waits for this one has to.
 */
static int reset_victim_choice(void *item, void *arg)
{
	job_record_t *job = item;

	(void)arg;
	if (IS_JOB_PENDING(job) && job->details)
		job->details->preempt_start_time = 0;
	return 0;
}

static void withdraw_preemption(job_record_t *job)
{
	if (job->het_job_list)
		list_for_each(job->het_job_list, withdraw_component, NULL);
	else
		withdraw_component(job, NULL);
	list_for_each(job_list, reset_victim_choice, NULL);
	schedule(false); /* it only rings */
	egs_ring_job(egs_decisions_run_dir(), job->job_id, EGS_DOORBELL_MODIFY);
}

/* Since 24.05 Slurm takes any end of a job that it has asked to go for a wish
 * to be requeued.
 */
void egs_grace_apply(job_record_t *job)
{
	struct egs_table_job row;

	if (!egs_decision_get(job, &row))
		return;
	if (row.fate_and_flags & EGS_TABLE_WITHDRAWN)
		withdraw_preemption(job);
	else if (job->preempt_time &&
		 !(row.fate_and_flags & EGS_TABLE_REQUEUE_ON_EXIT))
		job->bit_flags &= ~(uint64_t)EGS_GRACE_PREEMPT;
}
