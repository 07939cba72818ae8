/* lock_gpus.c - lock the GPUs that a job is giving back
 *
 * A GPU scan locks all GPUs of its job that no process has open, while these
 * processes are stopped.  So nothing can open a GPU after the scan has not seen
 * it.  When egs-policyd has read from Slurm what the job has now, it takes the
 * number of the scan out of the orders.  Then egs-noded unlocks what the job
 * has.  A GPU that it has given back stays locked until the job ends or gets it
 * again.  The locks of version 1 may be those of an earlier egs-noded.
 *
 * All orders are compared with what may be locked, so nothing is missed: a GPU
 * counts as locked from the start of the scan until it was unlocked with
 * success.  While it is not, the next request has no sequence number, so that
 * egs-policyd does not take the orders for obeyed.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/log.h"
#include "noded/noded.h"

enum { UNLOCK_MS = 5000, RETRY_MS = 100, RETRY_MAX_MS = 4000 };

static struct egs_job_lock *find_lock(const struct egs_noded *noded,
				      uint32_t job)
{
	for (size_t i = 0; i < noded->njob_locks; i++)
		if (noded->job_locks[i].job == job)
			return &noded->job_locks[i];
	return NULL;
}

/* Returns NULL without memory. */
static struct egs_job_lock *add_lock(struct egs_noded *noded, uint32_t job)
{
	struct egs_job_lock *lock = find_lock(noded, job);

	if (!lock && egs_grow(&noded->job_locks, &noded->job_locks_room,
			      noded->njob_locks + 1) == 0) {
		lock = &noded->job_locks[noded->njob_locks++];
		*lock = (struct egs_job_lock){ .job = job };
	}
	return lock;
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

int egs_noded_expect_lock(struct egs_noded *noded,
			  const struct egs_job_orders *orders,
			  struct egs_err *err)
{
	struct egs_job_lock *lock;

	if (!orders->gpu_set)
		return 0;
	open_locks(noded);
	lock = add_lock(noded, orders->job);
	if (!lock)
		return egs_errf(err, "out of memory");
	lock->locked |= orders->gpu_set;
	lock->unsure |= orders->gpu_set;
	return 0;
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

/* ---- unlock, in the child ---- */

void egs_noded_close_link(const struct egs_noded *noded)
{
	if (noded->gpu_locks.link_fd >= 0)
		close(noded->gpu_locks.link_fd);
}

/* The error of one job does not keep the others locked. */
static int unlock_in_child(const void *arg, char **bytes, size_t *len,
			   struct egs_err *err)
{
	const struct egs_noded *noded = arg;
	struct egs_stepds stepds = { .n = 0 };
	struct egs_node_gpus gpus;
	int rc = 0;

	(void)bytes;
	(void)len;
	egs_noded_close_link(noded);
	if (egs_stepds_read(&stepds, err) < 0)
		return -1;
	egs_node_gpus_read(&gpus, NULL, noded->node);
	for (size_t i = 0; i < noded->nunlocks; i++)
		if (egs_gpu_locks_set(&noded->gpu_locks, &gpus, &stepds,
				      &noded->unlocks[i], err) < 0)
			rc = -1;
	egs_stepds_free(&stepds);
	return rc;
}

/* ---- unlock, in egs-noded ---- */

static const struct egs_job_orders *find_orders(const struct egs_noded *noded,
						uint32_t job)
{
	for (size_t i = 0; i < noded->norders; i++)
		if (noded->orders[i].job == job)
			return &noded->orders[i];
	return NULL;
}

/* Does a child scan this job?  It may lock until it has ended. */
static bool is_scanned(const struct egs_noded *noded, uint32_t job)
{
	for (size_t i = 0; i < EGS_GPU_SCANS_MAX; i++) {
		const struct egs_gpu_scan *scan = &noded->gpu_scans[i];

		if (scan->number && scan->job == job && !scan->report)
			return true;
	}
	return false;
}

/* Is there something to unlock for this job by the last orders? */
static bool is_unlock_due(const struct egs_job_lock *lock,
			  const struct egs_job_orders *orders)
{
	return orders && !orders->gpu_scan && lock->unsure & orders->gpu_set;
}

static void forget_ended_jobs(struct egs_noded *noded)
{
	size_t kept = 0;

	for (size_t i = 0; i < noded->njob_locks; i++) {
		const struct egs_job_lock lock = noded->job_locks[i];

		if (find_orders(noded, lock.job) || is_scanned(noded, lock.job))
			noded->job_locks[kept++] = lock;
		else
			egs_gpu_locks_forget(&noded->gpu_locks, lock.job);
	}
	noded->njob_locks = kept;
}

/* Find what can be unlocked.  Returns whether something must wait for a scan.
 */
static bool collect_unlocks(struct egs_noded *noded)
{
	bool waits = false;

	for (size_t i = 0; i < noded->njob_locks; i++) {
		const struct egs_job_lock *lock = &noded->job_locks[i];
		const struct egs_job_orders *orders =
			find_orders(noded, lock->job);

		if (!is_unlock_due(lock, orders))
			continue;
		if (is_scanned(noded, lock->job)) {
			waits = true;
			continue;
		}
		noded->unlocks[noded->nunlocks++] = (struct egs_gpu_lock){
			.job = lock->job,
			.locked = lock->locked & ~orders->gpu_set,
			.gpu_set = orders->gpu_set,
		};
	}
	return waits;
}

static void drop_unlocked(struct egs_noded *noded)
{
	for (size_t i = 0; i < noded->nunlocks; i++) {
		const struct egs_gpu_lock *unlocked = &noded->unlocks[i];
		struct egs_job_lock *lock = find_lock(noded, unlocked->job);

		if (!lock)
			continue;
		lock->locked &= ~unlocked->gpu_set;
		lock->unsure &= ~unlocked->gpu_set;
	}
}

/* A scan ends soon; a failure may last. */
static uint64_t choose_pause_ms(const struct egs_noded *noded)
{
	return noded->unlock_failures
		       ? egs_noded_backoff_ms(noded->unlock_failures,
					      RETRY_MAX_MS)
		       : RETRY_MS;
}

/* Request the orders again, since these are not obeyed. */
static void retry_orders(struct egs_noded *noded, uint64_t in_ms)
{
	noded->seq[0] = '\0';
	egs_timer_start(noded->poll_timer, in_ms);
}

static void on_unlocked(void *arg, int rc, const char *bytes, size_t len,
			const struct egs_err *err)
{
	struct egs_noded *noded = arg;
	bool polls = noded->unlock_polls;

	(void)bytes;
	(void)len;
	if (rc == 0)
		drop_unlocked(noded);
	else if (!noded->unlock_failures)
		egs_log_error("GPUs are not unlocked: %s", err->msg);
	noded->unlock_failures = rc == 0 ? 0 : noded->unlock_failures + 1;
	noded->unlock_polls = false;
	if (polls && rc == 0)
		egs_timer_start(noded->poll_timer, 0);
	else if (polls)
		retry_orders(noded, choose_pause_ms(noded));
	egs_noded_start_gpu_scans(noded);
}

static int start_unlocks(struct egs_noded *noded, struct egs_err *err)
{
	noded->unlock_child.done = on_unlocked;
	noded->unlock_child.arg = noded;
	return egs_timed_child_start(&noded->unlock_child, noded->loop,
				     unlock_in_child, noded, UNLOCK_MS, err);
}

/* An earlier egs-noded may have locked any GPU: with version 1 that stays. */
static void read_locks(struct egs_noded *noded)
{
	for (size_t i = 0; !noded->locks_read && i < noded->norders; i++) {
		struct egs_job_lock *lock =
			add_lock(noded, noded->orders[i].job);

		if (lock)
			lock->unsure = UINT64_MAX;
	}
	noded->locks_read = true;
}

/* Returns whether all is unlocked; otherwise a child, or a scan, is at work. */
static bool unlock_jobs(struct egs_noded *noded)
{
	struct egs_err err = { "out of memory" };
	struct egs_gpu_lock *list;
	bool waits;

	if (egs_noded_is_unlocking(noded))
		return false;
	forget_ended_jobs(noded);
	list = realloc(noded->unlocks, (noded->njob_locks + 1) * sizeof(*list));
	if (list)
		noded->unlocks = list;
	noded->nunlocks = 0;
	waits = !list || collect_unlocks(noded);
	if (!noded->nunlocks)
		return !waits;
	if (start_unlocks(noded, &err) < 0)
		on_unlocked(noded, -1, NULL, 0, &err);
	return false;
}

bool egs_noded_is_unlocking(const struct egs_noded *noded)
{
	return egs_timed_child_runs(&noded->unlock_child);
}

bool egs_noded_follow_locks(struct egs_noded *noded)
{
	read_locks(noded);
	if (unlock_jobs(noded))
		return true;
	noded->unlock_polls = egs_noded_is_unlocking(noded);
	if (!noded->unlock_polls)
		retry_orders(noded, choose_pause_ms(noded));
	return false;
}

void egs_noded_unlock_after_scan(struct egs_noded *noded)
{
	if (noded->has_orders)
		unlock_jobs(noded);
}

void egs_noded_stop_locks(struct egs_noded *noded)
{
	egs_timed_child_stop(&noded->unlock_child);
	egs_gpu_locks_close(&noded->gpu_locks);
	free(noded->job_locks);
	free(noded->unlocks);
}
