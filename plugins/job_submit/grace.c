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
static int take_back(void *item, void *arg)
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
	job->bit_flags &= ~(uint64_t)EGS_ASKED_TO_LEAVE;
	job->warn_flags &= (uint16_t)~WARN_SENT;
	last_job_update = time(NULL);
	info("%pJ: need not go any more, its time limit is its own again", job);
	return 0;
}

/* A job that has chosen victims chooses no others for a while (22.05
 * node_scheduler.c:2553): one who still waits for this one has to.
 */
static int choose_again(void *item, void *arg)
{
	job_record_t *job = item;

	(void)arg;
	if (IS_JOB_PENDING(job) && job->details)
		job->details->preempt_start_time = 0;
	return 0;
}

static void spare(job_record_t *job)
{
	if (job->het_job_list)
		list_for_each(job->het_job_list, take_back, NULL);
	else
		take_back(job, NULL);
	list_for_each(job_list, choose_again, NULL);
	schedule(false); /* it only rings */
	egs_ring(egs_decide_run_dir(), job->job_id, EGS_BELL_MODIFY);
}

/* Since 24.05 Slurm takes any end of a job that it has asked to go for a wish
 * to be requeued.
 */
void egs_grace_follow(job_record_t *job)
{
	struct egs_table_job row;

	if (!egs_decided(job, &row))
		return;
	if (row.mode & EGS_TABLE_SPARED)
		spare(job);
	else if (job->preempt_time && !(row.mode & EGS_TABLE_RETURNS))
		job->bit_flags &= ~(uint64_t)EGS_ASKED_TO_LEAVE;
}
