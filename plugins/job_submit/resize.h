/* resize.h - release and transfer GPUs of running jobs, inside slurmctld
 *
 * A resize happens within one update of a job, under slurmctld's locks for jobs
 * and nodes, so no other thread sees half of it.  All checks come first; after
 * the first change nothing can fail.
 */
#ifndef EGS_JOB_SUBMIT_RESIZE_H
#define EGS_JOB_SUBMIT_RESIZE_H

#include "plugins/job_submit/resize_request.h"

/* Carry out the request in 'desc', for which egs_resize_request_is_set(), on
 * running job 'job' for user 'uid', and take it out of 'desc'.  Returns
 * SLURM_SUCCESS, or Slurm's code for a refusal with 'err' set and nothing
 * changed.
 */
int egs_submit_resize(job_desc_msg_t *desc, job_record_t *job, uint32_t uid,
		      struct egs_err *err);

#endif
