/* resize.h - GPUs of running jobs change hands, inside slurmctld
 *
 * Everything happens in one update of a job, under slurmctld's locks for jobs
 * and nodes: whoever looks sees it before or after, never between.  A request
 * is looked at in full before anything is changed, and from then on nothing
 * can fail.
 */
#ifndef EGS_JOB_SUBMIT_RESIZE_H
#define EGS_JOB_SUBMIT_RESIZE_H

#include "plugins/job_submit/resize_request.h"

/* Do what 'desc', for which egs_resize_request_is_set() is true, asks of
 * running job 'job' for user 'uid', and take it out of 'desc'.  Returns
 * SLURM_SUCCESS, or Slurm's code for a refusal with 'err' set and nothing
 * changed.
 */
int egs_submit_resize(job_desc_msg_t *desc, job_record_t *job, uint32_t uid,
		      struct egs_err *err);

#endif
