/* read_jobs.h - Slurm's structs read as facts; for the worker only */
#ifndef EGS_SLURM_READ_JOBS_H
#define EGS_SLURM_READ_JOBS_H

#include "policyd/slurm/compat.h"
#include "policyd/slurm/facts.h"

/* Write what libslurm loaded as a fact behind what is in 'out'. */
void egs_slurm_put_job(struct egs_buf *out, const slurm_job_info_t *job);
void egs_slurm_put_node(struct egs_buf *out, node_info_t *node);

/* The limit that a job in the queue waits for, in squeue's words; NULL: none.
 */
const char *egs_slurm_limit_reason(const slurm_job_info_t *job);

#endif
