/* release_nodes.h - a running job gives whole nodes back; for the worker only
 *
 * Any Slurm can do that, of any job, unless SchedulerParameters has
 * disable_job_shrink.  It ends what runs there, so only nodes go where nothing
 * does: no step, and no process that has a GPU open.
 */
#ifndef EGS_SLURM_RELEASE_NODES_H
#define EGS_SLURM_RELEASE_NODES_H

#include "common/base/err.h"
#include "policyd/slurm/compat.h"

/* Let 'job' keep 'keep' of its nodes, the batch script's among them, and all
 * that are in 'open' (as plugins/job_submit/resize_request.h has it).  0, or -1
 * with 'err' set and the job as it was.
 */
int egs_slurm_release_nodes(const slurm_job_info_t *job, uint32_t keep,
			    const char *open, struct egs_err *err);

/* The variables of Slurm's that say which nodes the job has and how many, added
 * to those in 'text', as resize_job.h has them.
 */
void egs_slurm_append_node_env(const slurm_job_info_t *job, char *text,
			       size_t size);

#endif
