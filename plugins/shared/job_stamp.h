/* job_stamp.h - change the stamp of a job inside slurmctld
 *
 * Call these with slurmctld's write lock on jobs.
 */
#ifndef EGS_SHARED_JOB_STAMP_H
#define EGS_SHARED_JOB_STAMP_H

#include "common/hint/stamp.h"
#include "plugins/shared/gpu_request.h"

/* Put 'stamp' into '*comment', which slurmctld allocated.  Returns 0, or -1
 * with '*comment' left as it was if there is no memory.
 */
int egs_job_stamp_put(char **comment, const struct egs_stamp *stamp);

/* Set or clear "departed": the job was preempted and is requeued. */
void egs_job_stamp_set_departed(job_record_t *job, bool departed);

/* Save the submitted size before the first resize: Slurm does not store it. */
void egs_job_stamp_save_size(job_record_t *job, const gres_state_t *requested);

/* The job has ended.  If it is requeued, it requests its submitted size again,
 * or with restart=phase the size it had last.
 */
void egs_job_stamp_restore_size(job_record_t *job);

#endif
