/* job_exit.c - a job exits after a preemption notice, or with code 99 */
#include "plugins/select/job_exit.h"

#include <signal.h>
#include <sys/wait.h>

#include "common/hint/stamp.h"
#include "plugins/shared/decisions.h"
#include "plugins/shared/job_stamp.h"
#include "plugins/shared/make_ready.h"

/* A job that declared a checkpoint exits with this code to be requeued. */
enum { EXIT_REQUEUE = 99 };

enum { SHELL_SIGNAL = 128 };

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
	uint32_t flags = job->job_state & ~(uint32_t)JOB_STATE_BASE;

	EGS_SET_JOB_STATE(job, flags | JOB_COMPLETE);
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

/* Slurm sends SIGTERM to the steps of a job without a signal at the start of
 * its grace period.  Such a job has not ended by itself.  A shell reports a
 * command that was killed by a signal as 128 and its number.
 */
static bool was_ended_by_notice(const job_record_t *job,
				const struct egs_table_job *row)
{
	int status = (int)job->exit_code;
	bool killed = (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) ||
		      (WIFEXITED(status) &&
		       WEXITSTATUS(status) == SHELL_SIGNAL + SIGTERM);

	return killed && !job->warn_signal && job->details &&
	       job->details->requeue &&
	       (row->fate_and_flags & EGS_TABLE_FATE_MASK) == EGS_FATE_REQUEUE;
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
	    (!(row->fate_and_flags & EGS_TABLE_REQUEUE_ON_EXIT) &&
	     !was_ended_by_notice(job, row)))
		return;
	info("%pJ: exited during the preemption grace period, requeued", job);
	EGS_SET_JOB_STATE(job, job->job_state | JOB_REQUEUE);
}

/* RequeueExit=99 would do this, too, but for every job of the cluster. */
static bool asks_for_requeue(const job_record_t *job)
{
	struct egs_stamp stamp;

	if ((job->job_state & JOB_STATE_BASE) != JOB_FAILED ||
	    !WIFEXITED(job->exit_code) ||
	    WEXITSTATUS(job->exit_code) != EXIT_REQUEUE || !job->batch_flag ||
	    !job->details || !job->details->requeue)
		return false;
	stamp = egs_stamp_read(job->admin_comment);
	return egs_hint_can_save(&stamp.hint, &stamp.own_signal);
}

static void requeue_if_asked(job_record_t *job)
{
	if (job->job_state & JOB_REQUEUE || !asks_for_requeue(job))
		return;
	info("%pJ: exited with code %d, requeued", job, EXIT_REQUEUE);
	EGS_SET_JOB_STATE(job, job->job_state | JOB_REQUEUE);
}

/* From 24.05 on, Slurm itself requeues a job that exits in its grace period,
 * and the job is pending already (24.11 job_mgr.c:6114).
 */
static bool is_requeued(const job_record_t *job)
{
	return job->job_state & JOB_REQUEUE ||
	       (job->job_state & JOB_STATE_BASE) == JOB_PENDING;
}

/* Slurm delays a requeued job by two minutes.  The daemon shortens that if it
 * knows the job was preempted.  Record the fact in the stamp, because the
 * daemon may be down and Slurm clears preempt_time.  A job that exits with 99
 * without a notice waits for Slurm's delay.
 */
static void prepare_next_run(job_record_t *job, bool preempted)
{
	if (!is_requeued(job))
		return;
	if (preempted)
		egs_job_stamp_set_departed(job, true);
	egs_make_ready_output(job);
}

/* Slurm, the daemon or the job itself ended a run for a preemption. */
static void end_preempted_run(job_record_t *job,
			      const struct egs_table_job *row)
{
	if (would_be_held(job))
		set_job_prio(job);
	requeue_if_yielded(job, row);
}

bool egs_job_exit_handle(job_record_t *job)
{
	struct egs_table_job row;
	bool preempted;

	if (!egs_decision_while_preempted(job, &row))
		return false;
	if (has_ended_late(job))
		set_state_complete(job);
	preempted = was_preempt_requested(job, &row);
	if (preempted)
		end_preempted_run(job, &row);
	else if (!asks_for_requeue(job))
		return false;
	requeue_if_asked(job);
	prepare_next_run(job, preempted);
	return preempted && !job->preempt_time && is_requeued(job) &&
	       !(row.fate_and_flags & EGS_TABLE_FOR_OTHER);
}
