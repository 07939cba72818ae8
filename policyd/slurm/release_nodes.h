/* release_nodes.h - a running job gives whole nodes back; for the worker only
 *
 * Every version of Slurm can release nodes of any job, unless
 * SchedulerParameters has disable_job_shrink.  Slurm kills the processes on
 * those nodes.  So a job gives back only nodes that have no step and no process
 * with a GPU open.
 */
#ifndef EGS_SLURM_RELEASE_NODES_H
#define EGS_SLURM_RELEASE_NODES_H

#include "common/base/err.h"
#include "policyd/slurm/compat.h"

/* Reduce 'job' to 'keep' nodes.  The node of the batch script and all nodes in
 * 'open' (format: common/hint/stamp.h) stay.  0, or -1 with
 * 'err' set and the job unchanged.
 */
int egs_slurm_release_nodes(const slurm_job_info_t *job, uint32_t keep,
			    const char *open, struct egs_err *err);

/* Append the environment variables of Slurm with the nodes of the job to
 * 'text', in the format of resize_job.h.
 */
void egs_slurm_append_node_env(const slurm_job_info_t *job, char *text,
			       size_t size);

#endif
