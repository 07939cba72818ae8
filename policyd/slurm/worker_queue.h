/* worker_queue.h - requests that wait for the worker
 *
 * Polls, actions and resizes leave the queue in the order in which they came.
 * Reads of single jobs leave after all of them, because users' messages cause
 * reads.  The queue is bounded, and each thing is in it once: one poll, one
 * resize of a job in each way, one drain of a node, one read of a job.
 */
#ifndef EGS_SLURM_WORKER_QUEUE_H
#define EGS_SLURM_WORKER_QUEUE_H

#include <sys/queue.h>

#include "policyd/slurm/worker_internal.h"

#define EGS_WORKER_READS_MAX 256
#define EGS_WORKER_ACTS_MAX  4096

struct egs_worker_queue {
	/* Polls, actions and resizes; their number. */
	STAILQ_HEAD(egs_worker_acts, egs_queued_request) acts;
	size_t nacts;
	uint32_t job_id[EGS_WORKER_READS_MAX]; /* reads, a ring */
	size_t next_read, nreads;
};

void egs_worker_queue_init(struct egs_worker_queue *queue);
void egs_worker_queue_clear(struct egs_worker_queue *queue);

/* Add a request, or change an equal one that waits: a poll becomes full, a
 * resize gets the new parameters.  Returns 0, or -1 if the queue is full or
 * memory is out.
 */
int egs_worker_queue_add(struct egs_worker_queue *queue,
			 const struct egs_worker_request *request);

/* Does a resize of this job wait, in any way? */
bool egs_worker_queue_has_resize(const struct egs_worker_queue *queue,
				 uint32_t job_id);

/* Remove the next request into '*request'; false if none waits. */
bool egs_worker_queue_take(struct egs_worker_queue *queue,
			   struct egs_worker_request *request);

#endif
