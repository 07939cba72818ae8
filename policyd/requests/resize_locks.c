/* resize_locks.c - jobs whose nodes lock GPUs during a resize */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/requests/resize_locks.h"

void egs_resize_locks_free(struct egs_resize_locks *locks)
{
	for (size_t i = 0; i < locks->n; i++)
		free(locks->list[i].nodes);
	free(locks->list);
	*locks = (struct egs_resize_locks){ .n = 0 };
}

struct egs_resize_lock *egs_resize_locks_find(struct egs_resize_locks *locks,
					      uint32_t job_id)
{
	for (size_t i = 0; i < locks->n; i++)
		if (locks->list[i].job_id == job_id)
			return &locks->list[i];
	return NULL;
}

uint32_t egs_resize_locks_number(struct egs_resize_locks *locks,
				 uint32_t job_id)
{
	const struct egs_resize_lock *lock =
		egs_resize_locks_find(locks, job_id);

	return lock && !lock->is_ending ? lock->number : 0;
}

int egs_resize_locks_begin(struct egs_resize_locks *locks, uint32_t job_id,
			   uint32_t number, const uint32_t *nodes,
			   uint32_t nnodes)
{
	struct egs_resize_lock *lock = egs_resize_locks_find(locks, job_id);
	uint32_t *copy = calloc(nnodes + 1, sizeof(*copy));

	if (!copy ||
	    (!lock && egs_grow(&locks->list, &locks->room, locks->n + 1) < 0)) {
		free(copy);
		return -1;
	}
	if (!lock) {
		lock = &locks->list[locks->n++];
		*lock = (struct egs_resize_lock){ .job_id = job_id };
	}
	free(lock->nodes);
	memcpy(copy, nodes, nnodes * sizeof(*copy));
	lock->nodes = copy;
	lock->nnodes = nnodes;
	lock->number = number;
	lock->is_ending = false;
	return 0;
}

bool egs_resize_locks_answer(struct egs_resize_locks *locks, uint32_t job_id)
{
	struct egs_resize_lock *lock = egs_resize_locks_find(locks, job_id);

	if (!lock || lock->is_ending)
		return false;
	lock->is_read_due = true;
	return true;
}

void egs_resize_locks_see(struct egs_resize_locks *locks, uint32_t job_id)
{
	struct egs_resize_lock *lock = egs_resize_locks_find(locks, job_id);

	if (lock)
		lock->is_read_due = false;
}

bool egs_resize_locks_end(struct egs_resize_locks *locks, uint32_t job_id,
			  bool is_busy, int64_t now)
{
	struct egs_resize_lock *lock = egs_resize_locks_find(locks, job_id);

	if (!lock || is_busy || lock->is_read_due || lock->is_ending)
		return false;
	lock->is_ending = true;
	lock->ending_at = now;
	return true;
}

void egs_resize_locks_confirm(struct egs_resize_locks *locks, uint32_t node)
{
	for (size_t i = 0; i < locks->n; i++) {
		struct egs_resize_lock *lock = &locks->list[i];

		for (uint32_t k = 0; lock->is_ending && k < lock->nnodes; k++)
			if (lock->nodes[k] == node)
				lock->nodes[k--] = lock->nodes[--lock->nnodes];
	}
}

static uint32_t remove_lock(struct egs_resize_locks *locks, size_t i)
{
	uint32_t job_id = locks->list[i].job_id;

	free(locks->list[i].nodes);
	locks->list[i] = locks->list[--locks->n];
	return job_id;
}

uint32_t egs_resize_locks_pop(struct egs_resize_locks *locks, int64_t now)
{
	for (size_t i = 0; i < locks->n; i++) {
		const struct egs_resize_lock *lock = &locks->list[i];

		if (lock->is_ending &&
		    (!lock->nnodes ||
		     now - lock->ending_at > EGS_RESIZE_UNLOCK_S))
			return remove_lock(locks, i);
	}
	return 0;
}

void egs_resize_locks_drop(struct egs_resize_locks *locks, uint32_t job_id)
{
	for (size_t i = 0; i < locks->n; i++)
		if (locks->list[i].job_id == job_id) {
			remove_lock(locks, i);
			return;
		}
}
