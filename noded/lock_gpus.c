/* lock_gpus.c - lock the GPUs that a job is giving back
 *
 * A GPU scan locks all GPUs of its job that no process has open, while these
 * processes are stopped.  So nothing can open a GPU after the scan has not seen
 * it.  When egs-policyd has read from Slurm what the job has now, it takes the
 * number of the scan out of the orders.  Then egs-noded unlocks what the job
 * has.  A GPU that it has given back stays locked until the job ends or gets it
 * again.  The locks of version 1 may be those of an earlier egs-noded.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/log.h"
#include "noded/noded.h"

enum { UNLOCK_MS = 5000 };

static struct egs_job_lock *find_lock(const struct egs_noded *noded,
				      uint32_t job)
{
	for (size_t i = 0; i < noded->njob_locks; i++)
		if (noded->job_locks[i].job == job)
			return &noded->job_locks[i];
	return NULL;
}

static void add_lock(struct egs_noded *noded,
		     const struct egs_job_orders *orders)
{
	struct egs_job_lock *lock = find_lock(noded, orders->job);

	if (!lock && egs_grow(&noded->job_locks, &noded->job_locks_room,
			      noded->njob_locks + 1) == 0) {
		lock = &noded->job_locks[noded->njob_locks++];
		*lock = (struct egs_job_lock){ .job = orders->job };
	}
	if (lock)
		lock->gpus |= orders->gpu_set;
}

/* ---- lock ---- */

static void open_locks(struct egs_noded *noded)
{
	struct egs_err err;

	if (noded->gpu_locks.link_fd >= 0 ||
	    egs_gpu_locks_open(&noded->gpu_locks, &err) == 0)
		return;
	if (!noded->locks_warned)
		egs_log_info("GPUs are locked during a resize only with "
			     "control groups of version 1: %s",
			     err.msg);
	noded->locks_warned = true;
}

void egs_noded_expect_lock(struct egs_noded *noded,
			   const struct egs_job_orders *orders)
{
	if (!orders->gpu_set)
		return;
	open_locks(noded);
	add_lock(noded, orders);
}

int egs_noded_lock_unopened(void *arg, const struct egs_gpu_users *users,
			    struct egs_err *err)
{
	const struct egs_gpu_scan *scan = arg;
	struct egs_gpu_lock lock = { .job = scan->job,
				     .locked = scan->gpu_set,
				     .gpu_set = scan->gpu_set };
	struct egs_node_gpus gpus;

	for (size_t i = 0; i < users->n; i++)
		lock.locked &= ~(UINT64_C(1) << users->list[i].gpu);
	egs_node_gpus_read(&gpus, NULL, scan->noded->node);
	return egs_gpu_locks_set(&scan->noded->gpu_locks, &gpus, &users->stepds,
				 &lock, err);
}

/* ---- unlock ---- */

struct unlock_input {
	const struct egs_noded *noded;
	const struct egs_gpu_lock *list;
	size_t n;
};

static int unlock_in_child(const void *arg, char **bytes, size_t *len,
			   struct egs_err *err)
{
	const struct unlock_input *input = arg;
	struct egs_stepds stepds = { .n = 0 };
	struct egs_node_gpus gpus;
	int rc = egs_stepds_read(&stepds, err);

	(void)bytes;
	(void)len;
	egs_node_gpus_read(&gpus, NULL, input->noded->node);
	for (size_t i = 0; rc == 0 && i < input->n; i++)
		rc = egs_gpu_locks_set(&input->noded->gpu_locks, &gpus, &stepds,
				       &input->list[i], err);
	egs_stepds_free(&stepds);
	return rc;
}

static void on_unlocked(void *arg, int rc, const char *bytes, size_t len,
			const struct egs_err *err)
{
	struct egs_noded *noded = arg;

	(void)bytes;
	(void)len;
	if (rc < 0)
		egs_log_error("GPUs are not unlocked: %s", err->msg);
	egs_timer_start(noded->poll_timer, 0);
}

static const struct egs_job_orders *find_orders(const struct egs_noded *noded,
						uint32_t job)
{
	for (size_t i = 0; i < noded->norders; i++)
		if (noded->orders[i].job == job)
			return &noded->orders[i];
	return NULL;
}

/* Find what is to be unlocked, and forget jobs without locks.  Returns the
 * number of jobs in 'list'.
 */
static size_t collect_unlocks(struct egs_noded *noded,
			      struct egs_gpu_lock *list)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < noded->njob_locks; i++) {
		struct egs_job_lock lock = noded->job_locks[i];
		const struct egs_job_orders *orders =
			find_orders(noded, lock.job);

		if (!orders)
			egs_gpu_locks_forget(&noded->gpu_locks, lock.job);
		if (orders && !orders->gpu_scan &&
		    lock.gpus & orders->gpu_set) {
			lock.gpus &= ~orders->gpu_set;
			list[n++] = (struct egs_gpu_lock){
				.job = lock.job,
				.locked = lock.gpus,
				.gpu_set = orders->gpu_set,
			};
		}
		if (orders && lock.gpus)
			noded->job_locks[kept++] = lock;
	}
	noded->njob_locks = kept;
	return n;
}

bool egs_noded_follow_locks(struct egs_noded *noded)
{
	struct unlock_input input = { .noded = noded };
	struct egs_gpu_lock *list;
	int rc = -1;

	for (size_t i = 0; !noded->locks_read && i < noded->norders; i++)
		if (noded->orders[i].gpu_set)
			add_lock(noded, &noded->orders[i]);
	noded->locks_read = true;
	list = calloc(noded->njob_locks + 1, sizeof(*list));
	if (list)
		input.n = collect_unlocks(noded, list);
	input.list = list;
	noded->unlock_child.done = on_unlocked;
	noded->unlock_child.arg = noded;
	if (input.n)
		rc = egs_timed_child_start(&noded->unlock_child, noded->loop,
					   unlock_in_child, &input, UNLOCK_MS,
					   NULL);
	free(list);
	return rc == 0;
}

void egs_noded_stop_locks(struct egs_noded *noded)
{
	egs_timed_child_stop(&noded->unlock_child);
	egs_gpu_locks_close(&noded->gpu_locks);
	free(noded->job_locks);
}
