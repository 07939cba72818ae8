/* job_desc.h - read and change Slurm's description of a job
 *
 * Slurm allocates the strings of a description (xmalloc).  A check input
 * borrows its strings from the description or from slurmctld.
 */
#ifndef EGS_JOB_SUBMIT_JOB_DESC_H
#define EGS_JOB_SUBMIT_JOB_DESC_H

#include "plugins/compat/compat.h"
#include "plugins/job_submit/check.h"
#include "plugins/job_submit/hint_sources.h"

/* Where the hint of the job may be. */
struct egs_hint_sources egs_job_desc_hint_sources(const job_desc_msg_t *desc);

/* The job's own --signal, all zero if it has none. */
struct egs_save_signal egs_job_desc_signal(const job_desc_msg_t *desc);

/* Fill in what the job requests, except the hint.  For an update, 'job' has the
 * values that 'desc' does not change; for a new job it is NULL.  'user': look
 * up the name of the user.
 */
void egs_job_desc_check_input(const job_desc_msg_t *desc,
			      const job_record_t *job, bool user,
			      struct egs_check_input *request);

/* Does the update change anything that was checked when 'job' was submitted? */
bool egs_job_desc_needs_check(const job_desc_msg_t *desc,
			      const job_record_t *job);

/* Change the request to 'gpus' in total.  -1 with 'err' set and nothing changed
 * if the form of the request does not allow that.
 */
int egs_job_desc_set_gpus(job_desc_msg_t *desc, uint32_t gpus,
			  struct egs_err *err);

/* Replace every hint in the environment of a batch job by 'hint', if that is
 * not empty: the node gets the hint as slurmctld read it.
 */
void egs_job_desc_set_hint(job_desc_msg_t *desc, const struct egs_hint *hint);

/* Set what a managed job needs for preemption.  A batch job that declared a
 * checkpoint gets requeue and append unless it chose otherwise.  A job gets the
 * signal it declared.  A job that declared another way to save gets a harmless
 * one where Slurm would send SIGTERM to jobs without a signal.
 */
void egs_job_desc_set_defaults(job_desc_msg_t *desc,
			       const struct egs_hint *hint,
			       const struct egs_save_signal *own);

#endif
