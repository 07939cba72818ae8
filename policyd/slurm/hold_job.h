/* hold_job.h - hold, release or cancel a job that has not started
 *
 * Each function first reads the job: it may have started since the daemon
 * decided.  Of a job array only the tasks that have not started are changed;
 * the id of an array would also name its running tasks.
 */
#ifndef EGS_SLURM_HOLD_JOB_H
#define EGS_SLURM_HOLD_JOB_H

#include "policyd/slurm/compat.h"

/* All take a job as Slurm writes it (12, 12_3) and return 0, -1 or a code of
 * slurmctld; errno has the code of a failure.  0 is also: nothing was to be
 * done.  slurmctld's answer goes to '*resp'.
 */
int egs_slurm_cancel_pending(const char *job);

/* 'by_admin': only operators release it.  Never makes the hold of an operator
 * one that the owner may release.
 */
int egs_slurm_hold_job(const char *job, bool by_admin,
		       job_array_resp_msg_t **resp);

/* 'by_admin': also if an operator holds it. */
int egs_slurm_release_job(const char *job, bool by_admin,
			  job_array_resp_msg_t **resp);

#endif
