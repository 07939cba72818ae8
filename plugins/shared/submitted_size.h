/* submitted_size.h - the size a resized job was submitted with
 *
 * Slurm forgets it, and a job that is requeued is to start with it.  It is kept
 * as one word in the job's AdminComment, beside its stamp:
 *
 *	egs-size:4/0/8000	four GPUs per node, not asked for per job, and
 *				8000 MB of memory per node
 */
#ifndef EGS_SHARED_SUBMITTED_SIZE_H
#define EGS_SHARED_SUBMITTED_SIZE_H

#include "plugins/shared/gpu_request.h"

/* Write it down, before the first change. */
void egs_submitted_size_save(job_record_t *job, const gres_state_t *asked);

/* Keep the word when the job gets another AdminComment, one of Slurm's own
 * strings.
 */
void egs_submitted_size_copy(const job_record_t *job, char **comment);

/* The job has ended: ask for that size again, should it be requeued; or for
 * what it had last if it was submitted with restart=phase.
 */
void egs_submitted_size_restore(job_record_t *job);

#endif
