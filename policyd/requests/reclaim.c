/* reclaim.c - tell the policy which GPUs are idle, and do what it decides
 *
 * Only the driver and Slurm's allocation are believed: a GPU without a new
 * sample of this run of this job counts as busy.  The time that a GPU is idle
 * is also limited by the steady clock since we have first seen it with the job,
 * so that a clock that is set makes no GPU idle.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/base/list.h"
#include "common/base/log.h"
#include "policyd/requests/gpu_samples.h"
#include "policyd/slurm/node_filter.h"

/* A preemption that the policy wants, until the next tick. */
struct reclaim {
	struct egs_identity job;
	uint32_t requester;
	struct egs_err reason;
};

struct egs_reclaims {
	struct reclaim *list;
	uint32_t n, room;
	struct egs_gpu_idle *idle; /* buffer */
	uint32_t nidle, idle_room;
	uint32_t head[EGS_QUEUE_HEADS_MAX]; /* pending jobs, of this tick */
	uint32_t nheads;
	/* The nodes that each of them may use, a bit for each node. */
	uint64_t *usable;
	size_t usable_room;
	uint32_t nnodes;
	bool has_usable; /* of this tick */
};

static int init_reclaims(struct egs_daemon *d, struct egs_err *err)
{
	d->requests->reclaims = calloc(1, sizeof(struct egs_reclaims));
	return d->requests->reclaims ? 0 : egs_errf(err, "out of memory");
}

static void free_reclaims(struct egs_daemon *d)
{
	struct egs_reclaims *r = d->requests ? d->requests->reclaims : NULL;

	if (!r)
		return;
	free(r->list);
	free(r->idle);
	free(r->usable);
	free(r);
}

/* ---- may a pending job use the nodes of a running one? ---- */

static bool shares_name(const char *list, const char *names)
{
	char name[EGS_NAME_SIZE];
	const char *entry;
	size_t len;

	while ((entry = egs_list_next(&list, &len))) {
		snprintf(name, sizeof(name), "%.*s", (int)len, entry);
		if (egs_conf_list_has(names, name))
			return true;
	}
	return false;
}

static bool may_use_node(const struct egs_daemon *d,
			 const struct egs_account_get_blocked *b,
			 const struct egs_node_filter *filter,
			 const struct egs_node_info *n)
{
	return n && n->up && !n->gone && !n->reserved &&
	       !egs_daemon_is_avoided(d, n->name) &&
	       shares_name(b->partitions, n->partitions) &&
	       (!filter ||
		egs_node_filter_may_use(filter, n->name, n->features));
}

/* What a pending job asks of its nodes. */
struct waiting_job {
	struct egs_account_get_blocked b;
	struct egs_node_filter *filter; /* NULL: nothing */
};

static int open_waiting(const struct egs_daemon *d, uint32_t job_id,
			struct waiting_job *w)
{
	w->filter = NULL;
	if (!d->account ||
	    egs_account_get_blocked(d->account, job_id, &w->b) < 0)
		return -1;
	return *w->b.node_filter && !(w->filter = egs_node_filter_parse(
					      w->b.node_filter))
		       ? -1
		       : 0;
}

/* Tell the policy which nodes a pending job may use; its bits are 'bits'. */
static void set_usable(const struct egs_daemon *d, uint32_t job_id,
		       uint64_t *bits, uint32_t nnodes)
{
	struct waiting_job w;
	bool known = open_waiting(d, job_id, &w) == 0;

	for (uint32_t i = 0; i < nnodes; i++) {
		const struct egs_node_info *n =
			egs_cluster_get_node(d->cluster, i);

		if (known && may_use_node(d, &w.b, w.filter, n))
			bits[i / 64] |= UINT64_C(1) << i % 64;
	}
	egs_node_filter_free(w.filter);
	egs_policy_set_usable(d->policy, job_id, bits, nnodes);
}

/* Once a tick, and only if a job has idle GPUs. */
static int set_usable_nodes(const struct egs_daemon *d)
{
	struct egs_reclaims *r = d->requests->reclaims;
	uint32_t nnodes = 0, words;

	if (r->has_usable)
		return 0;
	while (egs_cluster_get_node(d->cluster, nnodes))
		nnodes++;
	words = (nnodes + 63) / 64;
	if (egs_grow(&r->usable, &r->usable_room, (size_t)words * r->nheads) <
	    0)
		return -1;
	if (words && r->nheads)
		memset(r->usable, 0,
		       (size_t)words * r->nheads * sizeof(r->usable[0]));
	for (uint32_t i = 0; i < r->nheads; i++)
		set_usable(d, r->head[i], r->usable + (size_t)i * words,
			   nnodes);
	r->nnodes = nnodes;
	r->has_usable = true;
	return 0;
}

/* All nodes: it is not known on which the pending job would start. */
static bool may_use_nodes(const struct egs_reclaims *r, uint32_t head,
			  const struct egs_job *v)
{
	const uint64_t *bits =
		r->usable + (size_t)head * ((r->nnodes + 63) / 64);

	for (uint32_t i = 0; i < v->nallocs; i++) {
		uint32_t node = v->alloc[i].node;

		if (node >= r->nnodes || !(bits[node / 64] >> node % 64 & 1))
			return false;
	}
	return true;
}

static uint32_t list_waiting(const struct egs_daemon *d,
			     const struct egs_job *v,
			     uint32_t waiting[EGS_QUEUE_HEADS_MAX])
{
	const struct egs_reclaims *r = d->requests->reclaims;
	uint32_t n = 0;

	if (set_usable_nodes(d) < 0)
		return 0;
	for (uint32_t i = 0; i < r->nheads; i++)
		if (may_use_nodes(r, i, v))
			waiting[n++] = r->head[i];
	return n;
}

/* ---- what the GPUs of a job do ---- */

/* Seconds; 0: the GPU is busy, or that is not known. */
static uint32_t get_idle_s(const struct egs_daemon *d, const struct egs_job *j,
			   uint32_t node, uint32_t gpu)
{
	const struct egs_node_samples *samples = egs_gpu_samples_of(d, node);
	const struct egs_gpu_record *record =
		egs_gpu_samples_find(samples, gpu);
	int64_t idle, held;

	if (!record || !egs_gpu_record_is_of(record, j))
		return 0;
	idle = egs_gpu_record_idle_s(samples, record, egs_daemon_now());
	held = (int64_t)(egs_now_ms() - record->held_since_ms) / 1000;
	if (idle > held)
		idle = held;
	return idle > 0 ? (uint32_t)idle : 0;
}

static int add_gpu(struct egs_reclaims *r, uint32_t node, uint32_t idle_s)
{
	if (egs_grow(&r->idle, &r->idle_room, r->nidle + 1) < 0)
		return -1;
	r->idle[r->nidle++] =
		(struct egs_gpu_idle){ .node = node, .idle_s = idle_s };
	return 0;
}

/* Fill r->idle.  Returns the longest time, or -1 without memory. */
static int64_t measure_gpus(const struct egs_daemon *d, const struct egs_job *j)
{
	struct egs_reclaims *r = d->requests->reclaims;
	int64_t longest = 0;

	r->nidle = 0;
	for (uint32_t i = 0; i < j->nallocs; i++)
		for (uint32_t gpu = 0; gpu < 64; gpu++) {
			uint32_t node = j->alloc[i].node, idle_s;

			if (!(j->alloc[i].gpu_set >> gpu & 1))
				continue;
			idle_s = get_idle_s(d, j, node, gpu);
			if (add_gpu(r, node, idle_s) < 0)
				return -1;
			longest = idle_s > longest ? idle_s : longest;
		}
	return longest;
}

static void tell_policy(struct egs_daemon *d, const struct egs_job *j)
{
	const struct egs_reclaims *r = d->requests->reclaims;
	const struct egs_phase *phase =
		&egs_daemon_conf(d)->phase[j->facts.phase];
	uint32_t waiting[EGS_QUEUE_HEADS_MAX];
	int64_t longest = measure_gpus(d, j);
	struct egs_event ev = { .kind = EGS_EV_IDLE, .job = j->ident };

	if (longest < 0)
		return;
	ev.idle = r->idle;
	ev.nidle = r->nidle;
	ev.waiting = waiting;
	if (longest >= (int64_t)phase->idle_warn_s)
		ev.nwaiting = list_waiting(d, j, waiting);
	egs_policy_apply(d->policy, &ev, egs_daemon_now());
}

static bool is_watched(const struct egs_policy_conf *c, const struct egs_job *j)
{
	const struct egs_phase *phase;

	if (!j || !j->running || j->facts.tier < 0 || j->facts.phase < 0)
		return false;
	phase = &c->phase[j->facts.phase];
	return phase->idle_warn_s != EGS_UNLIMITED ||
	       phase->stall_after_s != EGS_UNLIMITED;
}

/* Returns the number of jobs whose GPUs are watched. */
static uint32_t watch_jobs(struct egs_daemon *d)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	struct egs_reclaims *r = d->requests->reclaims;
	uint32_t slots = egs_policy_nslots(d->policy), n = 0;

	r->has_usable = false;
	for (uint32_t i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		if (!is_watched(c, j))
			continue;
		if (n++ == 0)
			r->nheads = egs_policy_list_waiting(d->policy, r->head);
		tell_policy(d, j);
	}
	return n;
}

/* ---- what the policy decides ---- */

static const char *find_words(enum egs_action_kind kind)
{
	return kind == EGS_ACT_STALLED ? "stalled" : "idle";
}

/* A sentence for the owner of the job and for Notify=. */
static struct egs_err explain_warning(const struct egs_daemon *d,
				      const struct egs_action *a)
{
	const struct egs_job *j = egs_policy_job(d->policy, a->job.job_id);
	struct egs_err text = egs_daemon_action_reason(d, a);

	if (a->kind == EGS_ACT_STALLED)
		egs_errf(&text, "%s, and the job has reported no progress",
			 text.msg);
	else if (j && egs_daemon_conf(d)->phase[j->facts.phase].idle_yield_s !=
			      EGS_UNLIMITED)
		egs_errf(&text,
			 "%s; if they stay idle, the job is asked to give "
			 "them back",
			 text.msg);
	return text;
}

static void warn_job(struct egs_daemon *d, const struct egs_action *a,
		     bool may_act)
{
	const struct egs_job *j = egs_policy_job(d->policy, a->job.job_id);
	struct egs_err text = explain_warning(d, a), what, err;
	bool observed = !may_act && a->kind != EGS_ACT_STALLED;

	egs_errf(&what, "%s%s", observed ? "would warn: " : "",
		 find_words(a->kind));
	egs_daemon_log_event(d, &a->job, what.msg, "policy", text.msg, &err);
	egs_daemon_changed(d, EGS_CHANGED_JOBS);
	if (observed)
		egs_log_info("job %" PRIu32 ": would warn, %s", a->job.job_id,
			     text.msg);
	else
		egs_notify_send(
			d, &(struct egs_warning){ .kind = find_words(a->kind),
						  .text = text.msg,
						  .job = j,
						  .gpu = -1 });
}

/* An event cannot be applied while actions are carried out. */
static void add_reclaim(struct egs_daemon *d, const struct egs_action *a)
{
	struct egs_reclaims *r = d->requests->reclaims;

	if (egs_grow(&r->list, &r->room, r->n + 1) < 0)
		return; /* the policy asks again */
	r->list[r->n++] = (struct reclaim){
		.job = a->job,
		.requester = a->requester,
		.reason = egs_daemon_action_reason(d, a),
	};
}

static void on_idle_action(struct egs_daemon *d, const struct egs_action *a,
			   bool may_act)
{
	if (a->kind != EGS_ACT_IDLE_RECLAIM)
		warn_job(d, a, may_act);
	else if (may_act)
		add_reclaim(d, a);
	else
		egs_daemon_observe_idle(d, a);
}

/* The policy borrows the reason until egs_daemon_update(). */
static void preempt_job(struct egs_daemon *d, const struct reclaim *reclaim)
{
	const struct egs_job *j =
		egs_policy_job(d->policy, reclaim->job.job_id);
	struct egs_event ev = { .kind = EGS_EV_PREEMPTING,
				.job = reclaim->job,
				.notify_job = true,
				.requester = reclaim->requester,
				.reason = reclaim->reason.msg };

	if (!j || j->ident.restarts != reclaim->job.restarts || j->preempting ||
	    egs_requests_check_preemptible(d, j, NULL) < 0)
		return;
	egs_policy_apply(d->policy, &ev, egs_daemon_now());
	egs_daemon_changed(d, EGS_CHANGED_JOBS);
	egs_daemon_update(d);
}

/* A preemption updates the policy, which may add to the list. */
static void preempt_jobs(struct egs_daemon *d)
{
	struct egs_reclaims *r = d->requests->reclaims;

	for (uint32_t i = 0; i < r->n; i++) {
		struct reclaim next = r->list[i];

		preempt_job(d, &next);
	}
	r->n = 0;
}

static void on_tick(struct egs_daemon *d)
{
	if (!d->synced || d->slurmctld_down) {
		d->requests->reclaims->n = 0; /* the policy asks again */
		return;
	}
	preempt_jobs(d);
	if (watch_jobs(d))
		egs_daemon_update(d);
}

const struct egs_part egs_reclaim_part = {
	.name = "reclaim",
	.init = init_reclaims,
	.stop = free_reclaims,
	.tick = on_tick,
	.idle_job = on_idle_action,
};
