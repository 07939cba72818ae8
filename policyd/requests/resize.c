/* resize.c - running jobs on their way to another number of GPUs */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "policyd/requests/node.h"
#include "policyd/requests/resize.h"

enum {
	/* While a helper waits in the queue, Slurm is asked so often. */
	AGAIN_S = 2,
	/* A node that has not looked by then has no egs-noded. */
	LOOK_S = 10,
};

struct egs_resizes {
	struct egs_resize *list;
	size_t n;
	uint32_t looks; /* numbered from the time of our start on */
};

struct egs_resizes *egs_resizes_new(void)
{
	struct egs_resizes *all = calloc(1, sizeof(*all));

	if (all)
		all->looks = (uint32_t)egs_daemon_now();
	return all;
}

void egs_resizes_free(struct egs_resizes *all)
{
	if (!all)
		return;
	for (size_t i = 0; i < all->n; i++)
		egs_resize_forget(&all->list[i]);
	free(all->list);
	free(all);
}

struct egs_resize *egs_resize_find(const struct egs_daemon *d, uint32_t job_id)
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

/* ---- who has GPUs open ---- */

uint32_t egs_resize_look(const struct egs_daemon *d, uint32_t job_id)
{
	const struct egs_resize *r =
		d->resizes ? egs_resize_find(d, job_id) : NULL;

	return r ? r->look : 0;
}

static void end_look(struct egs_daemon *d, struct egs_resize *r)
{
	free(r->silent);
	r->silent = NULL;
	r->look = r->nsilent = 0;
	egs_nodes_changed(d, NULL);
}

/* Ask all nodes of the job. */
static int begin_look(struct egs_daemon *d, struct egs_resize *r,
		      const struct egs_job *j)
{
	r->silent = calloc(j->nparts + 1, sizeof(*r->silent));
	if (!r->silent)
		return -1;
	for (uint32_t i = 0; i < j->nparts; i++)
		if (j->part[i].gpus)
			r->silent[r->nsilent++] = j->part[i].node;
	r->ask.open[0] = r->who.msg[0] = '\0';
	r->look = ++d->resizes->looks;
	egs_nodes_changed(d, &j->ident);
	egs_nodes_tell(d);
	return 0;
}

static void ask_worker(struct egs_daemon *d, struct egs_resize *r)
{
	r->said.msg[0] = '\0';
	egs_worker_size(d->worker, &r->ask);
}

static void step(struct egs_daemon *d, struct egs_resize *r)
{
	const struct egs_job *j = egs_policy_job(d->policy, r->ask.job_id);

	r->under_way = true;
	r->asked = egs_daemon_now();
	r->ask.looked = false;
	if (j && j->running && (r->must_look || j->gpus > r->ask.gpus) &&
	    begin_look(d, r, j) == 0)
		return;
	ask_worker(d, r);
}

static void refuse(struct egs_daemon *d, struct egs_resize *r,
		   const struct egs_err *why)
{
	end_look(d, r);
	egs_resize_sized(d, r->ask.job_id, EGS_SIZED_REFUSED, why->msg);
}

static const char *name_of(const struct egs_daemon *d, uint32_t node)
{
	const struct egs_known_node *n = egs_world_nodes(d->world, node);

	return n ? n->name : "?";
}

static int add_open(struct egs_resize *r, const char *node, uint64_t open)
{
	size_t used = strlen(r->ask.open);
	int n = snprintf(r->ask.open + used, sizeof(r->ask.open) - used,
			 "%s%s:%" PRIx64, used ? "," : "", node, open);

	return n > 0 && (size_t)n < sizeof(r->ask.open) - used ? 0 : -1;
}

void egs_resize_opened(struct egs_daemon *d, uint32_t job_id, uint32_t look,
		       uint32_t node, uint64_t open, const struct egs_err *who)
{
	struct egs_resize *r = egs_resize_find(d, job_id);
	struct egs_err why;
	uint32_t i = 0;

	if (!r || !look || r->look != look)
		return;
	while (i < r->nsilent && r->silent[i] != node)
		i++;
	if (i == r->nsilent)
		return;
	r->silent[i] = r->silent[--r->nsilent];
	if (open)
		r->who = *who;
	if (open && add_open(r, name_of(d, node), open) < 0) {
		egs_errf(&why,
			 "job %" PRIu32 " keeps its GPUs: processes have them "
			 "open on too many nodes",
			 job_id);
		refuse(d, r, &why);
		return;
	}
	if (r->nsilent)
		return;
	end_look(d, r);
	r->ask.looked = true;
	ask_worker(d, r);
}

static void give_up_look(struct egs_daemon *d, struct egs_resize *r)
{
	struct egs_err why;

	egs_errf(&why,
		 "job %" PRIu32 " keeps its GPUs: egs-noded of %s does not "
		 "answer, and nobody else can tell which are open",
		 r->ask.job_id, name_of(d, r->silent[0]));
	refuse(d, r, &why);
}

void egs_resize_said(struct egs_daemon *d, uint32_t job_id, const char *words)
{
	struct egs_resize *r = egs_resize_find(d, job_id);

	if (r)
		egs_errf(&r->said, "%s", words);
}

struct egs_err egs_resize_refusal(const struct egs_resize *r)
{
	struct egs_err why;

	if (*r->said.msg)
		egs_errf(&why, "job %" PRIu32 " keeps its GPUs: %s",
			 r->ask.job_id, r->said.msg);
	else
		egs_errf(&why, "%s", r->text ? r->text : "");
	if (*r->before.msg)
		egs_errf(&why, "%s; %s", r->before.msg, why.msg);
	if (*r->who.msg)
		egs_errf(&why, "%s; %s", why.msg, r->who.msg);
	return why;
}

/* ---- from the first step to the last ---- */

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
	free(r->silent);
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
	uint32_t job_id = egs_fact_helps(fact);
	struct egs_size_ask next = { .job_id = fact->job_id,
				     .uid = fact->uid,
				     .next = true };
	struct egs_resize *r;

	if (fact->state == EGS_JOB_PENDING && fact->admin_comment &&
	    strstr(fact->admin_comment, EGS_NEXT_MARK))
		egs_worker_size(d->worker, &next);
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

void egs_resize_next(struct egs_daemon *d, const struct egs_ident *job,
		     uint32_t gpus)
{
	const struct egs_size_ask ask = {
		.job_id = job->job_id,
		.uid = job->uid,
		.gpus = gpus,
		.next = true,
	};

	egs_worker_size(d->worker, &ask);
}

/* What the job holds is looked at before it is told that it has it. */
void egs_resize_sized(void *arg, uint32_t job_id, enum egs_sized end,
		      const char *text)
{
	struct egs_daemon *d = arg;
	struct egs_resize *r = egs_resize_find(d, job_id);

	if (!r)
		return;
	r->must_look = end == EGS_SIZED_LOOK;
	if (end == EGS_SIZED_LOOK) {
		step(d, r);
		return;
	}
	if (end == EGS_SIZED_DONE) {
		egs_info("job %" PRIu32 ": has %" PRIu32 " GPUs now", job_id,
			 r->ask.gpus);
		egs_worker_look(d->worker, job_id);
	} else if (end == EGS_SIZED_REFUSED) {
		egs_info("%s", text);
	}
	r->told &= r->text && strcmp(r->text, text) == 0;
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
		if (r->look && now - r->asked > LOOK_S) {
			give_up_look(d, r);
		} else if (r->end != EGS_SIZED_WAITS) {
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
