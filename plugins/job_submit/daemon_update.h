/* daemon_update.h - what an update by egs-policyd does to a job
 *
 * Most of this is not in Slurm's API.  egs-policyd, as SlurmUser, touches the
 * job (EGS_DO_TOUCH): it sends an update that changes nothing.  slurmctld then
 * calls its plugins for the job, and they read the job's row in the decision
 * table again.  The row says what to do.  Without this plugin such an update
 * has no effect.
 *
 * Call these functions under slurmctld's job write lock.
 */
#ifndef EGS_JOB_SUBMIT_DAEMON_UPDATE_H
#define EGS_JOB_SUBMIT_DAEMON_UPDATE_H

#include "plugins/compat/compat.h"

/* Do what the row of 'job' says:
 *
 * The preemption is withdrawn: restore the time limit, and ring the doorbell.
 *
 * The exit of a preempted job is final: do not let Slurm requeue the job.
 *
 * The job is deferred, because its team is over a limit: let the job begin a
 * little later.  If only select/egs refused to start it, the job would block
 * the queue, because Slurm then starts no other job of its partition.  With a
 * later begin time Slurm skips the job (Reason=BeginTime).  The daemon renews
 * this; without the daemon the delay ends by itself.  Every few seconds all
 * other deferred jobs are renewed along with 'job'.
 */
void egs_daemon_update_apply(job_record_t *job);

/* Copy the resume info (common/hint/resume_info.h) from the update into the
 * environment that slurmctld adds to the job's own at its start.  It replaces
 * older resume info.  The caller checks that the daemon sent the update.
 */
void egs_daemon_update_resume_info(const job_desc_msg_t *desc,
				   job_record_t *job);

#endif
