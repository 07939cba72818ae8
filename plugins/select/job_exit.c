/* job_exit.c - a job that was asked to go ends */
#include "plugins/select/job_exit.h"

#include "plugins/shared/decisions.h"
#include "plugins/shared/job_stamp.h"

/* It ended by itself with 0 after its grace and before Slurm looked again, and
 * was called a job that ran out of its time (22.05 job_mgr.c:6484), which that
 * was not.
 */
static bool has_ended_late(const job_record_t *job)
{
	time_t used = job->end_time - job->start_time - job->tot_sus_time;

	return (job->job_state & JOB_STATE_BASE) == JOB_TIMEOUT &&
	       job->preempt_time &&
	       (job->time_limit == INFINITE ||
		used < (time_t)job->time_limit * 60);
}

static void set_state_complete(job_record_t *job)
{
	job->job_state &= ~(uint32_t)JOB_STATE_BASE;
	job->job_state |= JOB_COMPLETE;
	job->state_reason = WAIT_NO_REASON;
}

/* Slurm takes its priority from a job that it suspends (22.05 job_mgr.c:16902),
 * so one that is requeued then, as it had yielded, would be held; its end is
 * when it was suspended (:17338).
 */
static bool would_be_held(const job_record_t *job)
{
	return job->job_state & JOB_REQUEUE && !job->priority &&
	       job->suspend_time && job->end_time == job->suspend_time;
}

static bool was_preempt_requested(const job_record_t *job,
				  const struct egs_table_job *row)
{
	return job->preempt_time ||
	       row->fate_and_flags & EGS_TABLE_PREEMPT_REQUESTED;
}

/* Before 24.05 Slurm takes such an exit for an end (22.05 job_mgr.c:6384), and
 * later ones do when it was not Slurm who asked.
 */
static void requeue_if_yielded(job_record_t *job,
			       const struct egs_table_job *row)
{
	uint32_t state = job->job_state & JOB_STATE_BASE;

	if ((state != JOB_COMPLETE && state != JOB_FAILED) ||
	    !job->batch_flag ||
	    !(row->fate_and_flags & EGS_TABLE_REQUEUE_ON_EXIT))
		return;
	info("%pJ: exited during the preemption grace period, requeued", job);
	job->job_state |= JOB_REQUEUE;
}

/* Who is requeued waits for two minutes, unless the daemon knows why.  It may
 * be away, and Slurm forgets that it asked.
 */
static void tag_departed(job_record_t *job)
{
	if (job->job_state & JOB_REQUEUE)
		egs_job_stamp_set_departed(job, true);
}

void egs_job_exit_handle(job_record_t *job)
{
	struct egs_table_job row;

	if (!egs_decision_while_preempted(job, &row))
		return;
	if (has_ended_late(job))
		set_state_complete(job);
	if (!was_preempt_requested(job, &row))
		return;
	if (would_be_held(job))
		set_job_prio(job);
	requeue_if_yielded(job, &row);
	tag_departed(job);
}
