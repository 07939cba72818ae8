/* job_exit.c - a job that was asked to go ends */
#include "plugins/select/job_exit.h"

#include "common/hint/admin_tag.h"
#include "plugins/shared/decisions.h"

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

static void call_complete(job_record_t *job)
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

static bool was_asked(const job_record_t *job, const struct egs_table_job *row)
{
	return job->preempt_time || row->mode & EGS_TABLE_ASKED;
}

/* Before 24.05 Slurm takes such an exit for an end (22.05 job_mgr.c:6384), and
 * later ones do when it was not Slurm who asked.
 */
static void come_back(job_record_t *job, const struct egs_table_job *row)
{
	uint32_t state = job->job_state & JOB_STATE_BASE;

	if ((state != JOB_COMPLETE && state != JOB_FAILED) ||
	    !job->batch_flag || !(row->mode & EGS_TABLE_RETURNS))
		return;
	info("%pJ: was asked to leave and has ended, back to the queue", job);
	job->job_state |= JOB_REQUEUE;
}

/* Who is requeued waits for two minutes, unless the daemon knows why.  It may
 * be away, and Slurm forgets that it asked.
 */
static void note_left(job_record_t *job)
{
	if (job->job_state & JOB_REQUEUE &&
	    !egs_remark_find(job->admin_comment, EGS_REMARK_LEFT))
		xstrfmtcat(job->admin_comment, "%s" EGS_REMARK_LEFT,
			   job->admin_comment && *job->admin_comment ? " "
								     : "");
}

void egs_leave(job_record_t *job)
{
	struct egs_table_job row;

	if (!egs_decided_asked(job, &row))
		return;
	if (has_ended_late(job))
		call_complete(job);
	if (!was_asked(job, &row))
		return;
	if (would_be_held(job))
		set_job_prio(job);
	come_back(job, &row);
	note_left(job);
}

void egs_leave_over(job_record_t *job)
{
	egs_remark_drop(job->admin_comment, EGS_REMARK_LEFT);
}
