/* leave.c - a job that was asked to go ends */
#include "plugins/select/leave.h"

#include "plugins/decide/decide.h"

/* Before 24.05 Slurm takes such an exit for an end (22.05 job_mgr.c:6384), and
 * later ones do when it was not Slurm who asked.
 */
void egs_leave(job_record_t *job)
{
	uint32_t state = job->job_state & JOB_STATE_BASE;
	struct egs_table_job row;

	if ((state != JOB_COMPLETE && state != JOB_FAILED) ||
	    !job->batch_flag || !egs_decided(job, &row))
		return;
	if (!(row.mode & EGS_TABLE_RETURNS) ||
	    !(job->preempt_time || row.mode & EGS_TABLE_ASKED))
		return;
	info("%pJ: was asked to leave and has ended, back to the queue", job);
	job->job_state |= JOB_REQUEUE;
}
