/* job_exit.c - a job exits after a preemption notice */
#include "plugins/select/job_exit.h"

#include "plugins/shared/decisions.h"
#include "plugins/shared/job_stamp.h"

/* The job exited with 0 after its grace period, before Slurm killed it.  Slurm
 * then reports a timeout (22.05 job_mgr.c:6484), although the time limit was
 * not reached.
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

/* Slurm sets the priority of a suspended job to 0 (22.05 job_mgr.c:16902).  A
 * job that yielded and is requeued while suspended would be held.  Its end time
 * is the time of its suspension (:17338).
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

/* Before 24.05 Slurm does not requeue a job that exits in its grace period
 * (22.05 job_mgr.c:6384).  Later releases do, but only if Slurm itself preempts
 * the job.
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

/* Slurm delays a requeued job by two minutes.  The daemon shortens that if it
 * knows the job was preempted.  Record the fact in the stamp, because the
 * daemon may be down and Slurm clears preempt_time.
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
