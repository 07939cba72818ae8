/* resize.c - running jobs on their way to another number of GPUs */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "policyd/resize.h"
#include "policyd/wire/log.h"

/* While a helper waits in the queue, Slurm is asked so often. */
enum { AGAIN_S = 2 };

struct egs_resizes {
	struct egs_resize *list;
	size_t n;
};

struct egs_resizes *egs_resizes_new(void)
{
	return calloc(1, sizeof(struct egs_resizes));
}

void egs_resizes_free(struct egs_resizes *all)
{
	if (!all)
		return;
	for (size_t i = 0; i < all->n; i++)
		free(all->list[i].text);
	free(all->list);
	free(all);
}

struct egs_resize *egs_resize_find(struct egs_daemon *d, uint32_t job_id)
{
	struct egs_resizes *all = d->resizes;

	for (size_t i = 0; i < all->n; i++)
		if (all->list[i].used && all->list[i].ask.job_id == job_id)
			return &all->list[i];
	return NULL;
}

/* An unused one, made if need be; NULL: out of memory. */
static struct egs_resize *room(struct egs_resizes *all)
{
	struct egs_resize *more;

	for (size_t i = 0; i < all->n; i++)
		if (!all->list[i].used)
			return &all->list[i];
	more = realloc(all->list, (all->n + 1) * sizeof(*more));
	if (!more)
		return NULL;
	all->list = more;
	return &all->list[all->n++];
}

static void step(struct egs_daemon *d, struct egs_resize *r)
{
	r->under_way = true;
	r->asked = egs_daemon_now();
	egs_worker_size(d->worker, &r->ask);
}

int egs_resize_begin(struct egs_daemon *d, const struct egs_size_ask *ask,
		     struct egs_err *err)
{
	struct egs_resize *r = room(d->resizes);

	if (!r)
		return egs_errf(err, "out of memory");
	*r = (struct egs_resize){ .ask = *ask,
				  .end = EGS_SIZED_WAITS,
				  .heard = egs_daemon_now(),
				  .used = true };
	step(d, r);
	return 0;
}

void egs_resize_forget(struct egs_resize *r)
{
	free(r->text);
	*r = (struct egs_resize){ .used = false };
}

void egs_resize_cancel(struct egs_daemon *d, struct egs_resize *r)
{
	struct egs_size_ask ask = r->ask;

	ask.cancel = true;
	egs_resize_forget(r);
	egs_worker_size(d->worker, &ask);
}

void egs_resize_seen(struct egs_daemon *d, const struct egs_job_fact *fact)
{
	const char *mark = fact->admin_comment
				   ? strstr(fact->admin_comment, "egs-helper:")
				   : NULL;
	uint32_t job_id = mark ? (uint32_t)strtoul(mark + 11, NULL, 10) : 0;
	struct egs_resize *r;

	if (!job_id || fact->state > EGS_JOB_RUNNING ||
	    egs_resize_find(d, job_id))
		return;
	r = room(d->resizes);
	if (!r)
		return;
	*r = (struct egs_resize){ .ask = { .job_id = job_id, .uid = fact->uid },
				  .end = EGS_SIZED_WAITS,
				  .heard = egs_daemon_now(),
				  .used = true };
}

/* What the job holds is looked at before it is told that it has it. */
void egs_resize_sized(void *arg, uint32_t job_id, enum egs_sized end,
		      const char *text)
{
	struct egs_daemon *d = arg;
	struct egs_resize *r = egs_resize_find(d, job_id);

	if (!r)
		return;
	if (end == EGS_SIZED_DONE) {
		egs_info("job %" PRIu32 ": has %" PRIu32 " GPUs now", job_id,
			 r->ask.gpus);
		egs_worker_look(d->worker, job_id);
	} else if (end == EGS_SIZED_REFUSED) {
		egs_info("%s", text);
	}
	free(r->text);
	r->text = strdup(text);
	r->under_way = false;
	r->end = end;
}

void egs_resize_tick(struct egs_daemon *d)
{
	struct egs_resizes *all = d->resizes;
	egs_time_t now = egs_daemon_now();

	for (size_t i = 0; i < all->n; i++) {
		struct egs_resize *r = &all->list[i];

		if (!r->used)
			continue;
		if (r->end != EGS_SIZED_WAITS) {
			if (now - r->asked > EGS_RESIZE_LEASE_S)
				egs_resize_forget(r);
		} else if (now - r->heard > EGS_RESIZE_LEASE_S) {
			egs_info("job %" PRIu32 ": does not wait for GPUs any "
				 "more",
				 r->ask.job_id);
			egs_resize_cancel(d, r);
		} else if (r->ask.gpus && !r->under_way &&
			   now - r->asked >= AGAIN_S) {
			step(d, r);
		}
	}
}
