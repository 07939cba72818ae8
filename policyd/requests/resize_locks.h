/* resize_locks.h - jobs whose nodes lock GPUs during a resize
 *
 * With a GPU scan, a node locks the GPUs of the job that no process has open
 * (common/node/gpu_locks.h).  The nodes unlock what the job still has when its
 * orders have no number of a scan any more.  So they must keep the number until
 * Slurm has been read after the release, even if the job has stopped waiting:
 *
 *	begun: no end while the job is busy, that is, while its scan is under
 *	  |    way or the worker has a request for it
 *	  |    answered: no end until the job was read
 *	  v
 *	ending: no number
 *	  |
 *	  v
 *	each node has these orders, or the time is over: forgotten, and the job
 *	may be told
 *
 * Nothing is counted: the caller tells whether the job is busy at present.
 * Times are arguments, and nothing is called: the caller acts.
 */
#ifndef EGS_REQUESTS_RESIZE_LOCKS_H
#define EGS_REQUESTS_RESIZE_LOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"

/* A node that has not asked again by then is told later. */
#define EGS_RESIZE_UNLOCK_S 5

struct egs_resize_lock {
	uint32_t job_id;
	uint32_t number; /* of the scan, 0: none, the job has got GPUs */
	uint32_t *nodes; /* that have not confirmed the end */
	uint32_t nnodes;
	bool is_read_due; /* the worker has answered, the job is not read */
	bool is_ending;
	int64_t ending_at;
};

struct egs_resize_locks {
	struct egs_resize_lock *list;
	size_t n, room;
};

void egs_resize_locks_free(struct egs_resize_locks *locks);

/* The lock of a job, or NULL; valid until the next call with 'locks'. */
struct egs_resize_lock *egs_resize_locks_find(struct egs_resize_locks *locks,
					      uint32_t job_id);

/* The number that nodes of the job get, 0: none. */
uint32_t egs_resize_locks_number(struct egs_resize_locks *locks,
				 uint32_t job_id);

/* The scan 'number' begins on these nodes, or (0) they may have to unlock.
 * Returns -1 without memory.
 */
int egs_resize_locks_begin(struct egs_resize_locks *locks, uint32_t job_id,
			   uint32_t number, const uint32_t *nodes,
			   uint32_t nnodes);

/* The worker has answered a request.  Returns whether the job must be read. */
bool egs_resize_locks_answer(struct egs_resize_locks *locks, uint32_t job_id);

/* The job was read after all answers so far. */
void egs_resize_locks_see(struct egs_resize_locks *locks, uint32_t job_id);

/* End a lock, if the job is not busy and was read.  Returns whether it ends by
 * that.
 */
bool egs_resize_locks_end(struct egs_resize_locks *locks, uint32_t job_id,
			  bool is_busy, int64_t now);

/* A node has orders in which all locks that end have no number. */
void egs_resize_locks_confirm(struct egs_resize_locks *locks, uint32_t node);

/* Remove a lock that has ended on all nodes, or whose time is over.  Returns
 * its job, 0: there is none.
 */
uint32_t egs_resize_locks_pop(struct egs_resize_locks *locks, int64_t now);

/* Forget the lock of a job that does not run any more. */
void egs_resize_locks_drop(struct egs_resize_locks *locks, uint32_t job_id);

#endif
