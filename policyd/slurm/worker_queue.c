/* worker_queue.c - requests that wait for the worker */
#include <stdlib.h>
#include <string.h>

#include "policyd/slurm/worker_queue.h"

struct egs_queued_request {
	struct egs_worker_request request;
	STAILQ_ENTRY(egs_queued_request) link;
};

void egs_worker_queue_init(struct egs_worker_queue *queue)
{
	*queue = (struct egs_worker_queue){ .nacts = 0 };
	STAILQ_INIT(&queue->acts);
}

void egs_worker_queue_clear(struct egs_worker_queue *queue)
{
	struct egs_queued_request *q;

	while ((q = STAILQ_FIRST(&queue->acts))) {
		STAILQ_REMOVE_HEAD(&queue->acts, link);
		free(q);
	}
	egs_worker_queue_init(queue);
}

static int add_read(struct egs_worker_queue *queue, uint32_t job_id)
{
	size_t at = queue->next_read;

	for (size_t i = 0; i < queue->nreads; i++, at++)
		if (queue->job_id[at % EGS_WORKER_READS_MAX] == job_id)
			return 0;
	if (queue->nreads == EGS_WORKER_READS_MAX)
		return -1;
	queue->job_id[at % EGS_WORKER_READS_MAX] = job_id;
	queue->nreads++;
	return 0;
}

static bool is_equal(const struct egs_worker_request *a,
		     const struct egs_worker_request *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case EGS_WORKER_ACT:
		return a->action_id == b->action_id && a->action == b->action &&
		       strcmp(a->job, b->job) == 0;
	case EGS_WORKER_RESIZE:
		return a->resize.job_id == b->resize.job_id &&
		       a->resize.way == b->resize.way;
	case EGS_WORKER_DRAIN:
		return a->drain.undo == b->drain.undo &&
		       strcmp(a->drain.node, b->drain.node) == 0;
	default:
		return true;
	}
}

static struct egs_queued_request *
find_equal(const struct egs_worker_queue *queue,
	   const struct egs_worker_request *request)
{
	struct egs_queued_request *q;

	STAILQ_FOREACH(q, &queue->acts, link)
	if (is_equal(&q->request, request))
		return q;
	return NULL;
}

/* A poll always fits: without polls the daemon cannot decide. */
static int append_act(struct egs_worker_queue *queue,
		      const struct egs_worker_request *request)
{
	struct egs_queued_request *q;

	if (queue->nacts >= EGS_WORKER_ACTS_MAX &&
	    request->kind != EGS_WORKER_POLL)
		return -1;
	q = malloc(sizeof(*q));
	if (!q)
		return -1;
	q->request = *request;
	STAILQ_INSERT_TAIL(&queue->acts, q, link);
	queue->nacts++;
	return 0;
}

int egs_worker_queue_add(struct egs_worker_queue *queue,
			 const struct egs_worker_request *request)
{
	struct egs_queued_request *q;
	bool full_poll;

	if (request->kind == EGS_WORKER_READ_JOB)
		return add_read(queue, request->job_id);
	q = find_equal(queue, request);
	if (!q)
		return append_act(queue, request);
	full_poll = q->request.full_poll || request->full_poll;
	q->request = *request;
	q->request.full_poll = full_poll;
	return 0;
}

bool egs_worker_queue_has_resize(const struct egs_worker_queue *queue,
				 uint32_t job_id)
{
	const struct egs_queued_request *q;

	STAILQ_FOREACH(q, &queue->acts, link)
	if (q->request.kind == EGS_WORKER_RESIZE &&
	    q->request.resize.job_id == job_id)
		return true;
	return false;
}

static bool take_read(struct egs_worker_queue *queue,
		      struct egs_worker_request *request)
{
	if (!queue->nreads)
		return false;
	*request = (struct egs_worker_request){
		.kind = EGS_WORKER_READ_JOB,
		.job_id = queue->job_id[queue->next_read],
	};
	queue->next_read = (queue->next_read + 1) % EGS_WORKER_READS_MAX;
	queue->nreads--;
	return true;
}

bool egs_worker_queue_take(struct egs_worker_queue *queue,
			   struct egs_worker_request *request)
{
	struct egs_queued_request *q = STAILQ_FIRST(&queue->acts);

	if (!q)
		return take_read(queue, request);
	STAILQ_REMOVE_HEAD(&queue->acts, link);
	queue->nacts--;
	*request = q->request;
	free(q);
	return true;
}
