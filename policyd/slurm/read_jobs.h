/* read_jobs.h - facts from Slurm's structs; for the worker only */
#ifndef EGS_SLURM_READ_JOBS_H
#define EGS_SLURM_READ_JOBS_H

#include "policyd/slurm/compat.h"
#include "policyd/slurm/facts.h"

/* Use these partitions for the facts of jobs; borrowed, NULL: none. */
void egs_slurm_set_partitions(const partition_info_msg_t *partitions);

/* Append the fact of a job or a node to 'out'. */
void egs_slurm_put_job(struct egs_buf *out, const slurm_job_info_t *job);
void egs_slurm_put_node(struct egs_buf *out, node_info_t *node);

/* Is a node in this state lost capacity?  A node that is powered down, or just
 * powering up or down, is not: Slurm powers it up for a job.
 */
bool egs_slurm_is_node_lost(uint32_t node_state);

/* Write the job's id for a request, as "12" or "12_3" for a task.  The id of a
 * task can be that of its array, and slurmctld would then change every task.
 */
#define EGS_SLURM_JOB_ID_SIZE 32
void egs_slurm_format_job_id(const slurm_job_info_t *job,
			     char text[EGS_SLURM_JOB_ID_SIZE]);

/* Is a held job one that its owner may release? */
bool egs_slurm_is_held_by_user(const slurm_job_info_t *job);

/* The limit that a pending job waits for, in squeue's words; NULL: none. */
const char *egs_slurm_limit_reason(const slurm_job_info_t *job);

#endif
