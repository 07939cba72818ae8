/* resize_unlock.c - tell nodes when to unlock GPUs after a resize */
#include <stdlib.h>

#include "policyd/requests/node.h"
#include "policyd/requests/resize_locks.h"
#include "policyd/requests/resize_unlock.h"

static int init_locks(struct egs_daemon *d, struct egs_err *err)
{
	d->requests->resize_locks = calloc(1, sizeof(struct egs_resize_locks));
	return d->requests->resize_locks ? 0 : egs_errf(err, "out of memory");
}

static void free_locks(struct egs_daemon *d)
{
	struct egs_resize_locks *locks =
		d->requests ? d->requests->resize_locks : NULL;

	if (!locks)
		return;
	egs_resize_locks_free(locks);
	free(locks);
}

int egs_resize_unlock_expect(struct egs_daemon *d, const struct egs_resize *r)
{
	return egs_resize_locks_begin(d->requests->resize_locks,
				      r->request.job_id, r->gpu_scan,
				      r->unanswered, r->nunanswered);
}

void egs_resize_unlock_expect_done(struct egs_daemon *d, uint32_t job_id)
{
	struct egs_resize_locks *locks = d->requests->resize_locks;
	const struct egs_resize_lock *lock =
		egs_resize_locks_find(locks, job_id);
	const struct egs_job *j = egs_policy_job(d->policy, job_id);
	uint32_t *nodes;

	if (!j || (lock && !lock->is_ending))
		return;
	nodes = calloc(j->nallocs + 1, sizeof(*nodes));
	for (uint32_t i = 0; nodes && i < j->nallocs; i++)
		nodes[i] = j->alloc[i].node;
	if (nodes)
		egs_resize_locks_begin(locks, job_id, 0, nodes, j->nallocs);
	free(nodes);
}

void egs_resize_unlock_ask_worker(struct egs_daemon *d,
				  const struct egs_resize_params *params)
{
	egs_worker_resize(d->worker, params);
}

void egs_resize_unlock_answered(struct egs_daemon *d, uint32_t job_id)
{
	if (egs_resize_locks_answer(d->requests->resize_locks, job_id))
		egs_worker_read_job(d->worker, job_id);
}

static bool is_busy(const struct egs_daemon *d, uint32_t job_id)
{
	const struct egs_resize *r = egs_resize_find(d, job_id);

	return (r && r->gpu_scan) || egs_worker_has_resize(d->worker, job_id);
}

void egs_resize_unlock_end(struct egs_daemon *d, uint32_t job_id)
{
	if (egs_resize_locks_end(d->requests->resize_locks, job_id,
				 is_busy(d, job_id), egs_daemon_now()))
		egs_nodes_mark_changed(d);
}

uint32_t egs_resize_unlock_number(const struct egs_daemon *d, uint32_t job_id)
{
	struct egs_resize_locks *locks = d->requests->resize_locks;

	return locks ? egs_resize_locks_number(locks, job_id) : 0;
}

bool egs_resize_unlock_is_due(const struct egs_daemon *d, uint32_t job_id)
{
	return egs_resize_locks_find(d->requests->resize_locks, job_id);
}

static void on_job_read(struct egs_daemon *d, uint32_t job_id)
{
	egs_resize_locks_see(d->requests->resize_locks, job_id);
	egs_resize_unlock_end(d, job_id);
}

/* Tell the jobs whose GPUs are unlocked. */
static void forget_ended_locks(struct egs_daemon *d)
{
	uint32_t job_id;

	while ((job_id = egs_resize_locks_pop(d->requests->resize_locks,
					      egs_daemon_now())))
		egs_resize_add_news(d, job_id);
}

void egs_resize_unlock_confirm(struct egs_daemon *d, uint32_t node)
{
	if (!d->requests->resize_locks)
		return;
	egs_resize_locks_confirm(d->requests->resize_locks, node);
	forget_ended_locks(d);
}

/* A job that does not wait any more may have no scan.  Read a job again if the
 * first read has failed.
 */
static void on_tick(struct egs_daemon *d)
{
	struct egs_resize_locks *locks = d->requests->resize_locks;

	for (size_t i = locks->n; i-- > 0;) {
		struct egs_resize_lock *lock = &locks->list[i];
		const struct egs_job *j =
			egs_policy_job(d->policy, lock->job_id);

		if (!j || !j->running)
			egs_resize_locks_drop(locks, lock->job_id);
		else if (lock->is_read_due)
			egs_worker_read_job(d->worker, lock->job_id);
		else
			egs_resize_unlock_end(d, lock->job_id);
	}
	forget_ended_locks(d);
	egs_nodes_wake(d);
}

const struct egs_part egs_resize_unlock_part = {
	.name = "resize_unlock",
	.init = init_locks,
	.stop = free_locks,
	.tick = on_tick,
	.job_read = on_job_read,
};
