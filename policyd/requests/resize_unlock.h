/* resize_unlock.h - tell nodes when to unlock GPUs after a resize
 *
 * The locks of all jobs are in memory (resize_locks.h).  A restart forgets
 * them: then the nodes unlock what Slurm shows to the new daemon.
 */
#ifndef EGS_REQUESTS_RESIZE_UNLOCK_H
#define EGS_REQUESTS_RESIZE_UNLOCK_H

#include "policyd/requests/resize.h"

/* The nodes that scan for this resize lock GPUs.  Returns -1 without memory. */
int egs_resize_unlock_expect(struct egs_daemon *d, const struct egs_resize *r);

/* A resize is done.  If its nodes have not scanned, they may have locked GPUs
 * since an earlier resize that the job has got again.
 */
void egs_resize_unlock_expect_done(struct egs_daemon *d, uint32_t job_id);

/* Send a request for a job to the worker.  The worker has answered one. */
void egs_resize_unlock_ask_worker(struct egs_daemon *d,
				  const struct egs_resize_params *params);
void egs_resize_unlock_answered(struct egs_daemon *d, uint32_t job_id);

/* Unlock, unless a scan or the worker is at work for the job, or its answer is
 * newer than what was read.
 */
void egs_resize_unlock_end(struct egs_daemon *d, uint32_t job_id);

/* The number for the orders of the job's nodes while they lock; 0: none. */
uint32_t egs_resize_unlock_number(const struct egs_daemon *d, uint32_t job_id);

/* May nodes have locked GPUs that the job has?  Then it is not told yet. */
bool egs_resize_unlock_is_due(const struct egs_daemon *d, uint32_t job_id);

/* A node has the present orders of all its jobs. */
void egs_resize_unlock_confirm(struct egs_daemon *d, uint32_t node);

#endif
