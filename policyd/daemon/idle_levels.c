/* idle_levels.c - what is idle, wasted and lent at this moment, over time
 *
 * Looked at with every change, not by the minute: a level holds until the next
 * look differs, and is added to its hours and days for exactly that long.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/intern.h"
#include "policyd/accounting/wastage.h"
#include "policyd/daemon/daemon.h"
#include "policyd/slurm/node_filter.h"

/* So many different wishes for nodes are looked at; more are no wishes. */
enum { WHERES = 64 };

struct level {
	char scope[160];
	const char *metric;
	uint64_t value;
};

/* All levels at one time; 'at' 0: nobody knows. */
struct moment {
	struct level *level;
	size_t n, room;
	egs_time_t at;
};

struct egs_levels {
	struct moment now, next; /* 'next' holds once it is on disk */
	bool written;
	struct egs_names partitions; /* a bit is its number - 1 */
	struct egs_idle_node *node;
	uint32_t nnodes, node_room;
	struct egs_blocked *job;
	struct queued {
		uint32_t priority, job_id, at;
	} * queue;
	uint32_t njobs, job_room;
	struct {
		const char *text; /* the account's */
		uint64_t *among;
	} where[WHERES];
	uint32_t nwheres;
	struct egs_wastage wastage;
};

const char *egs_type_name(const struct egs_policy_conf *c, int type)
{
	const char *name = type < c->ntypes ? c->type[type].name : "other";

	return *name ? name : "gpu";
}

/* What others have on loan comes from GPUs nobody owns first; the rest counts
 * against the idle quotas, in proportion.
 */
uint32_t egs_daemon_lent(const struct egs_daemon *d, int type, uint32_t idle)
{
	const struct egs_policy_conf *c = egs_daemon_policy(d);
	uint32_t capacity[EGS_TYPE_ROWS];
	uint64_t owned = 0, all_idle = 0, loans = 0;
	int i;

	egs_world_capacity(d->world, c, capacity);
	for (i = 0; i < c->nteams; i++) {
		struct egs_holding h = egs_policy_holding(d->policy, i, type);

		owned += h.in_force;
		all_idle += h.idle;
		loans += h.on_loan;
	}
	if (capacity[type] > owned)
		loans -= loans < capacity[type] - owned
				 ? loans
				 : capacity[type] - owned;
	if (loans > all_idle)
		loans = all_idle;
	return all_idle ? (uint32_t)(loans * idle / all_idle) : 0;
}

/* ---- what there is ---- */

static void *room_for(void *list, uint32_t n, uint32_t *room, size_t size)
{
	void *more;

	if (n < *room)
		return list;
	more = realloc(list, (2 * (size_t)n + 64) * size);
	if (more)
		*room = 2 * n + 64;
	return more;
}

/* Where none is known it may be any. */
static uint64_t bits_of(struct egs_levels *l, const char *partitions)
{
	uint64_t bits = 0;
	char name[EGS_NAME_SIZE];

	while (partitions && *partitions) {
		size_t len = strcspn(partitions, ",");
		uint32_t number;

		snprintf(name, sizeof(name), "%.*s", (int)len, partitions);
		number = egs_names_add(&l->partitions, name);
		if (number > EGS_PARTITIONS_MAX)
			number = EGS_PARTITIONS_MAX;
		if (number)
			bits |= UINT64_C(1) << (number - 1);
		partitions += len + (partitions[len] == ',');
	}
	return bits ? bits : UINT64_MAX;
}

static int add_node(struct egs_daemon *d, const struct egs_known_node *n)
{
	struct egs_levels *l = d->levels;
	uint64_t free_mb =
		n->mem_mb > n->mem_used_mb ? n->mem_mb - n->mem_used_mb : 0;
	struct egs_idle_node *more =
		room_for(l->node, l->nnodes, &l->node_room, sizeof(*l->node));

	if (!more)
		return -1;
	l->node = more;
	l->node[l->nnodes++] = (struct egs_idle_node){
		.all = { n->gone ? 0 : n->gpus, n->gone ? 0 : n->cpus },
		.idle = { n->gone ? 0 : n->gpus, n->gone ? 0 : n->cpus },
		.leaving = { n->used, n->cpus_used },
		.mem_mb = free_mb > UINT32_MAX ? UINT32_MAX : (uint32_t)free_mb,
		.partitions = bits_of(l, n->partitions),
		.type = (uint8_t)egs_conf_type(egs_daemon_policy(d), n->type),
		.up = n->up,
		.reserved = n->reserved,
	};
	return 0;
}

static void forget_wheres(struct egs_levels *l)
{
	while (l->nwheres)
		free(l->where[--l->nwheres].among);
}

static uint64_t *find_nodes(const struct egs_daemon *d, const char *where)
{
	struct egs_where *w = egs_where_new(where);
	uint64_t *among = calloc(d->levels->nnodes / 64 + 1, sizeof(*among));
	const struct egs_known_node *n;
	uint32_t i;

	for (i = 0; w && among && (n = egs_world_nodes(d->world, i)); i++)
		if (egs_where_fits(w, n->name, n->features))
			among[i / 64] |= UINT64_C(1) << (i % 64);
	if (!w) {
		free(among);
		among = NULL;
	}
	egs_where_free(w);
	return among;
}

/* Nodes as bits, NULL: any.  Names are kept once, so the same text is at the
 * same place.
 */
static const uint64_t *nodes_among(struct egs_daemon *d, const char *where)
{
	struct egs_levels *l = d->levels;
	uint32_t i;

	if (!*where)
		return NULL;
	for (i = 0; i < l->nwheres; i++)
		if (l->where[i].text == where)
			return l->where[i].among;
	if (i == WHERES)
		return NULL;
	l->where[i].text = where;
	l->where[i].among = find_nodes(d, where);
	l->nwheres++;
	return l->where[i].among;
}

static void take(uint32_t *from, uint32_t n)
{
	*from -= n < *from ? n : *from;
}

/* What a job holds is neither idle nor being cleaned up. */
static void hold(struct egs_levels *l, const struct egs_job *j)
{
	uint32_t i;

	for (i = 0; i < j->nparts; i++) {
		struct egs_idle_node *n = &l->node[j->part[i].node];

		if (j->part[i].node >= l->nnodes)
			continue;
		take(&n->idle[EGS_GPUS], j->part[i].gpus);
		take(&n->leaving[EGS_GPUS], j->part[i].gpus);
		take(&n->idle[EGS_CORES], j->part[i].cores);
		take(&n->leaving[EGS_CORES], j->part[i].cores);
	}
}

static bool earns(const struct egs_policy_conf *c, const struct egs_job *j)
{
	return j->facts.tier < 0 || c->tier[j->facts.tier].revenue;
}

static int add_job(struct egs_daemon *d, const struct egs_job *j)
{
	struct egs_levels *l = d->levels;
	const struct egs_need *need = &j->facts.need;
	uint32_t jobs = l->job_room, queued = l->job_room;
	struct egs_account_blocked b;
	struct egs_blocked *more =
		room_for(l->job, l->njobs, &jobs, sizeof(*l->job));
	struct queued *queue;

	if (more)
		l->job = more;
	queue = room_for(l->queue, l->njobs, &queued, sizeof(*l->queue));
	if (queue)
		l->queue = queue;
	if (!more || !queue ||
	    egs_account_blocked(d->account, j->ident.job_id, &b) < 0)
		return more && queue ? 0 : -1;
	l->job_room = jobs;
	l->queue[l->njobs] =
		(struct queued){ b.priority, j->ident.job_id, l->njobs };
	l->job[l->njobs++] = (struct egs_blocked){
		.nodes = need->nodes,
		.want = { need->gpus, need->cores ? need->cores : 1 },
		.mem_mb = need->mem_mb,
		.partitions = bits_of(l, b.partitions),
		.among = nodes_among(d, b.where),
		.type = need->type,
		.limited = b.limited,
	};
	return 0;
}

static int before(const void *a, const void *b)
{
	const struct queued *p = a, *q = b;

	if (p->priority != q->priority)
		return p->priority > q->priority ? -1 : 1;
	return p->job_id < q->job_id ? -1 : p->job_id > q->job_id;
}

/* The queue in its order, into room behind it. */
static int sort_queue(struct egs_levels *l)
{
	struct egs_blocked *sorted = calloc(l->njobs + 1, sizeof(*sorted));
	uint32_t i;

	if (!sorted)
		return -1;
	if (l->njobs)
		qsort(l->queue, l->njobs, sizeof(*l->queue), before);
	for (i = 0; i < l->njobs; i++)
		sorted[i] = l->job[l->queue[i].at];
	free(l->job);
	l->job = sorted;
	l->job_room = l->njobs;
	return 0;
}

static int look(struct egs_daemon *d)
{
	struct egs_levels *l = d->levels;
	uint32_t slots = egs_policy_slots(d->policy), i;
	const struct egs_known_node *n;

	l->nnodes = l->njobs = 0;
	forget_wheres(l);
	for (i = 0; (n = egs_world_nodes(d->world, i)); i++)
		if (add_node(d, n) < 0)
			return -1;
	for (i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		if (j && j->running)
			hold(l, j);
		else if (j && !j->facts.blocked &&
			 earns(egs_daemon_policy(d), j) && add_job(d, j) < 0)
			return -1;
	}
	return sort_queue(l);
}

/* ---- as levels ---- */

static int put(struct moment *m, const char *scope, const char *metric,
	       uint64_t value)
{
	struct level *more;

	if (!value)
		return 0;
	if (m->n == m->room) {
		more = realloc(m->level, (2 * m->room + 64) * sizeof(*more));
		if (!more)
			return -1;
		m->level = more;
		m->room = 2 * m->room + 64;
	}
	more = &m->level[m->n++];
	memset(more, 0, sizeof(*more)); /* they are compared */
	snprintf(more->scope, sizeof(more->scope), "%s", scope);
	more->metric = metric;
	more->value = value;
	return 0;
}

static int put_wasted(struct moment *m, const char *scope,
		      const struct egs_wasted *w)
{
	int i, rc = 0;

	if (!w->all)
		return 0;
	rc |= put(m, scope, "seen", 1);
	rc |= put(m, scope, "capacity", w->all);
	rc |= put(m, scope, "idle", w->idle);
	rc |= put(m, scope, "wr", w->available);
	rc |= put(m, scope, "fit", w->fit);
	for (i = 0; i < EGS_CAUSES; i++)
		rc |= put(m, scope, egs_cause_name((enum egs_cause)i),
			  w->by[i]);
	return rc;
}

static int put_wastage(struct egs_daemon *d, enum egs_resource what,
		       const char *name)
{
	struct egs_levels *l = d->levels;
	const struct egs_policy_conf *c = egs_daemon_policy(d);
	char scope[160];
	int i, rc;

	egs_wastage(&l->wastage, what, l->node, l->nnodes, l->job, l->njobs);
	rc = put_wasted(&l->next, name, &l->wastage.total);
	for (i = 0; what == EGS_GPUS && i <= c->ntypes; i++) {
		snprintf(scope, sizeof(scope), "%s/type/%s", name,
			 egs_type_name(c, i));
		rc |= put_wasted(&l->next, scope, &l->wastage.type[i]);
	}
	for (i = 0; i < EGS_PARTITIONS_MAX && i < (int)l->partitions.n; i++) {
		snprintf(scope, sizeof(scope), "%s/partition/%s", name,
			 egs_names_get(&l->partitions, (uint32_t)i + 1));
		rc |= put_wasted(&l->next, scope, &l->wastage.partition[i]);
	}
	return rc;
}

static int put_team(struct egs_daemon *d, int team, int type)
{
	const struct egs_policy_conf *c = egs_daemon_policy(d);
	struct egs_holding h = egs_policy_holding(d->policy, team, type);
	struct moment *m = &d->levels->next;
	char scope[160];
	int rc;

	snprintf(scope, sizeof(scope), "team/%s/%s", c->team[team].name,
		 egs_type_name(c, type));
	rc = put(m, scope, "quota", h.quota);
	rc |= put(m, scope, "owned", h.owned);
	rc |= put(m, scope, "loan", h.on_loan);
	rc |= put(m, scope, "unmanaged", h.unmanaged);
	rc |= put(m, scope, "lent", egs_daemon_lent(d, type, h.idle));
	return rc;
}

static int measure(struct egs_daemon *d)
{
	const struct egs_policy_conf *c = egs_daemon_policy(d);
	struct moment *m = &d->levels->next;
	int team, type, rc;

	m->n = 0;
	m->at = egs_daemon_now();
	if (look(d) < 0)
		return -1;
	rc = put_wastage(d, EGS_GPUS, "gpu");
	rc |= put_wastage(d, EGS_CORES, "cpu");
	for (team = 0; team < c->nteams; team++)
		for (type = 0; type <= c->ntypes; type++)
			rc |= put_team(d, team, type);
	return rc;
}

static bool same(const struct moment *a, const struct moment *b)
{
	return a->at && a->n == b->n &&
	       (!a->n ||
		memcmp(a->level, b->level, a->n * sizeof(a->level[0])) == 0);
}

int egs_daemon_write_levels(struct egs_daemon *d, struct egs_err *err)
{
	struct egs_levels *l;
	size_t i;

	if (!d->levels)
		d->levels = calloc(1, sizeof(*d->levels));
	l = d->levels;
	if (!l)
		return 0;
	l->written = false;
	if (!d->whole || d->frozen || measure(d) < 0)
		return 0; /* what it was holds until the next time */
	if (same(&l->now, &l->next) && !d->store_open)
		return 0;
	if (egs_daemon_begin(d, err) < 0)
		return -1;
	for (i = 0; l->now.at && i < l->now.n; i++)
		if (egs_daemon_stored(
			    d,
			    egs_history_tally(d->store, l->now.level[i].scope,
					      l->now.level[i].metric, l->now.at,
					      l->next.at, l->now.level[i].value,
					      err),
			    err) < 0)
			return -1;
	l->written = true;
	return 0;
}

void egs_daemon_levels_written(struct egs_daemon *d)
{
	struct egs_levels *l = d->levels;
	struct moment was;

	if (!l || !l->written)
		return;
	was = l->now;
	l->now = l->next;
	l->next = was;
	l->written = false;
}

void egs_daemon_levels_unknown(struct egs_daemon *d)
{
	if (d->levels)
		d->levels->now.at = 0;
}

void egs_levels_free(struct egs_levels *l)
{
	if (!l)
		return;
	free(l->now.level);
	free(l->next.level);
	free(l->node);
	free(l->job);
	free(l->queue);
	forget_wheres(l);
	egs_names_clear(&l->partitions);
	free(l);
}
