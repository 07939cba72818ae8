/* resize_cores.h - cores and memory of a job that is resized
 *
 * cons_tres has pointers to the job's resources in its own tables.  So the job
 * is removed from these tables before its cores change, and added afterwards,
 * with the two calls that suspend and resume a job.
 */
#ifndef EGS_JOB_SUBMIT_RESIZE_CORES_H
#define EGS_JOB_SUBMIT_RESIZE_CORES_H

#include "plugins/job_submit/resize_records.h"

/* What a job releases besides GPUs: cores as a bitmap like the job's, CPUs and
 * memory by node.
 */
struct egs_resize_cores {
	bitstr_t *cores;
	uint16_t *cpus;
	uint64_t *mem_mb;
	/* The memory of each node that slurmctld can lower the job to, with the
	 * limits of its processes; 0: it cannot.  Then 'mem_mb' is released
	 * here, and limits stay.
	 */
	uint64_t limit_mb;
};

/* Make an empty share in the layout of the job, and free it. */
struct egs_resize_cores egs_resize_cores_new(const job_record_t *job);
void egs_resize_cores_free(struct egs_resize_cores *share);

/* Add what the job can release on node 'n' if it keeps 'keep' of 'held' GPUs,
 * in the job's own ratio.  Only whole cores that no step uses are released,
 * first those near the GPUs 'gone'; at least one core stays.  Memory of steps
 * stays, and at least 'used_mb'.
 */
void egs_resize_cores_add(struct egs_resize_cores *share,
			  const struct egs_resize_records *r, uint32_t n,
			  uint32_t keep, uint32_t held, bitstr_t *gone,
			  uint64_t used_mb);

/* Fill in 'limit_mb', when the share is complete. */
void egs_resize_cores_find_limit(struct egs_resize_cores *share,
				 const job_record_t *job);

/* Release the share, except memory that slurmctld can lower.  Nothing can fail.
 */
void egs_resize_cores_release(struct egs_resize_cores *share,
			      job_record_t *job);

/* Move all cores and memory of 'from' to 'to'.  Node m of 'from' is node at[m]
 * of 'to'.
 */
void egs_resize_cores_move(job_record_t *to, job_record_t *from,
			   const uint32_t *at);

#endif
