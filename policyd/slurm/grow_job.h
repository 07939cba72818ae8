/* grow_job.h - helper jobs, which get GPUs for a growing job; for the worker
 * only
 */
#ifndef EGS_SLURM_GROW_JOB_H
#define EGS_SLURM_GROW_JOB_H

#include "common/base/err.h"
#include "policyd/slurm/compat.h"

/* GPUs of a running job on all of its nodes. */
uint32_t egs_slurm_count_gpus(const slurm_job_info_t *job);

/* Submit a helper job of the same user that requests 'more' GPUs on each node
 * of 'job', for the rest of its time limit.  Cores and memory are in proportion
 * to the GPUs, or minimal with 'keep_cores'.  0, or -1 with 'err' set.
 */
int egs_slurm_submit_helper(const slurm_job_info_t *job, uint32_t more,
			    bool keep_cores, struct egs_err *err);

/* Write the environment variables of Slurm that describe the present allocation
 * of the job, in the format of resize_job.h.
 */
void egs_slurm_format_env(const slurm_job_info_t *job, char *text, size_t size);

#endif
