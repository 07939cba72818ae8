/* grow_job.h - jobs that get GPUs for a running one; for the worker only */
#ifndef EGS_SLURM_GROW_JOB_H
#define EGS_SLURM_GROW_JOB_H

#include "common/base/err.h"
#include "policyd/slurm/compat.h"

/* GPUs a running job holds on all of its nodes. */
uint32_t egs_slurm_count_gpus(const slurm_job_info_t *job);

/* Submit a job of the same user that asks for 'more' GPUs on each node of
 * 'job', with cores and memory by its ratio (or the least there is), for what
 * is left of its time.  0, or -1 with 'err' set.
 */
int egs_slurm_submit_helper(const slurm_job_info_t *job, uint32_t more,
			    bool keep_cores, struct egs_err *err);

/* The variables of Slurm's that are others when the job has what it has now,
 * as resize_job.h has them.
 */
void egs_slurm_format_env(const slurm_job_info_t *job, char *text, size_t size);

#endif
