/* read_jobs.h - facts from Slurm's structs; for the worker only */
#ifndef EGS_SLURM_READ_JOBS_H
#define EGS_SLURM_READ_JOBS_H

#include "policyd/slurm/compat.h"
#include "policyd/slurm/facts.h"

/* Append the fact of a job or a node to 'out'. */
void egs_slurm_put_job(struct egs_buf *out, const slurm_job_info_t *job);
void egs_slurm_put_node(struct egs_buf *out, node_info_t *node);

/* The limit that a pending job waits for, in squeue's words; NULL: none. */
const char *egs_slurm_limit_reason(const slurm_job_info_t *job);

#endif
