/* idle_levels.c - idle, wasted, held and lent GPUs over time
 *
 * The daemon computes the levels after every change, not every minute.  A level
 * is valid until a computation gives another value.  The daemon adds exactly
 * that time to the totals of hours and days.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/intern.h"
#include "common/base/list.h"
#include "policyd/accounting/wastage.h"
#include "policyd/daemon/daemon.h"
#include "policyd/slurm/node_filter.h"

/* Distinct node constraints tracked; further constraints are ignored. */
enum { NODE_FILTERS_MAX = 64 };

struct level {
	char scope[160];
	const char *metric;
	uint64_t value;
};

/* All levels at one time; 'at' is 0 while they are not known. */
struct snapshot {
	struct level *level;
	size_t n, room;
	egs_time_t at;
};

struct egs_idle_levels {
	struct snapshot now, next; /* 'next' becomes 'now' when it is on disk */
	bool next_saved;
	struct egs_intern partitions; /* partition N is bit N - 1 */
	struct egs_idle_node *node;
	uint32_t nnodes, node_room;
	struct egs_blocked_job *job;
	struct queue_entry {
		uint32_t priority, job_id, job_index;
	} * queue;
	uint32_t njobs, job_room, queue_room;
	struct {
		const char *text; /* owned by the account */
		uint64_t *among;
	} filter[NODE_FILTERS_MAX];
	uint32_t nfilters;
	struct egs_wastage_compute wastage;
	/* Nodes again, with the GPUs that jobs hold and do not use as idle. */
	struct egs_idle_node *held_node;
	struct egs_held_gpus *held;
	uint32_t held_node_room, held_room;
};

const char *egs_daemon_type_name(const struct egs_policy_conf *c, int type)
{
	const char *name = type < c->ntypes ? c->type[type].name : "other";

	return *name ? name : "gpu";
}

uint32_t egs_daemon_count_lent(const struct egs_daemon *d, int team, int type)
{
	uint32_t capacity[EGS_TYPE_ROWS];

	egs_cluster_count_gpus(d->cluster, egs_daemon_conf(d), capacity);
	return egs_policy_lent(d->policy, team, type, capacity[type]);
}

/* ---- nodes and blocked jobs ---- */

/* A node or job without a known partition matches all partitions. */
static uint64_t partition_bits(struct egs_idle_levels *l,
			       const char *partitions)
{
	uint64_t bits = 0;
	char name[EGS_NAME_SIZE];
	const char *partition;
	size_t len;

	while ((partition = egs_list_next(&partitions, &len))) {
		uint32_t number;

		snprintf(name, sizeof(name), "%.*s", (int)len, partition);
		number = egs_intern_add(&l->partitions, name);
		if (number > EGS_PARTITIONS_MAX)
			number = EGS_PARTITIONS_MAX;
		if (number)
			bits |= UINT64_C(1) << (number - 1);
	}
	return bits ? bits : UINT64_MAX;
}

static int add_node(struct egs_daemon *d, const struct egs_node_info *n)
{
	struct egs_idle_levels *l = d->idle_levels;
	uint64_t free_mb =
		n->mem_mb > n->mem_used_mb ? n->mem_mb - n->mem_used_mb : 0;

	if (egs_grow(&l->node, &l->node_room, l->nnodes + 1) < 0)
		return -1;
	l->node[l->nnodes++] = (struct egs_idle_node){
		.all = { n->gone ? 0 : n->gpus, n->gone ? 0 : n->cpus },
		.idle = { n->gone ? 0 : n->gpus, n->gone ? 0 : n->cpus },
		.cleaning = { n->gpus_used, n->cpus_used },
		.mem_mb = free_mb > UINT32_MAX ? UINT32_MAX : (uint32_t)free_mb,
		.partitions = partition_bits(l, n->partitions),
		.type = (uint8_t)egs_conf_match_type(egs_daemon_conf(d),
						     n->type),
		.up = n->up,
		.reserved = n->reserved,
	};
	return 0;
}

static void free_filters(struct egs_idle_levels *l)
{
	while (l->nfilters)
		free(l->filter[--l->nfilters].among);
}

static uint64_t *match_nodes(const struct egs_daemon *d, const char *where)
{
	struct egs_node_filter *w = egs_node_filter_parse(where);
	uint64_t *among =
		calloc(d->idle_levels->nnodes / 64 + 1, sizeof(*among));
	const struct egs_node_info *n;

	for (uint32_t i = 0;
	     w && among && (n = egs_cluster_get_node(d->cluster, i)); i++)
		if (egs_node_filter_may_use(w, n->name, n->features))
			among[i / 64] |= UINT64_C(1) << (i % 64);
	if (!w) {
		free(among);
		among = NULL;
	}
	egs_node_filter_free(w);
	return among;
}

/* Returns nodes as bits; NULL: any node.  Texts are interned, so equal texts
 * have equal addresses.
 */
static const uint64_t *find_filter_nodes(struct egs_daemon *d,
					 const char *where)
{
	struct egs_idle_levels *l = d->idle_levels;
	uint32_t i;

	if (!*where)
		return NULL;
	for (i = 0; i < l->nfilters; i++)
		if (l->filter[i].text == where)
			return l->filter[i].among;
	if (i == NODE_FILTERS_MAX)
		return NULL;
	l->filter[i].text = where;
	l->filter[i].among = match_nodes(d, where);
	l->nfilters++;
	return l->filter[i].among;
}

/* GPUs that a job holds are neither idle nor being cleaned up. */
static void subtract_job(struct egs_idle_levels *l, const struct egs_job *j)
{
	for (uint32_t i = 0; i < j->nallocs; i++) {
		struct egs_idle_node *n = &l->node[j->alloc[i].node];

		if (j->alloc[i].node >= l->nnodes)
			continue;
		n->idle[EGS_GPUS] =
			egs_sub(n->idle[EGS_GPUS], j->alloc[i].gpus);
		n->cleaning[EGS_GPUS] =
			egs_sub(n->cleaning[EGS_GPUS], j->alloc[i].gpus);
		n->idle[EGS_CORES] =
			egs_sub(n->idle[EGS_CORES], j->alloc[i].cores);
		n->cleaning[EGS_CORES] =
			egs_sub(n->cleaning[EGS_CORES], j->alloc[i].cores);
	}
}

static bool has_revenue(const struct egs_policy_conf *c,
			const struct egs_job *j)
{
	return j->facts.tier < 0 || c->tier[j->facts.tier].revenue;
}

static int add_waiting_job(struct egs_daemon *d, const struct egs_job *j)
{
	struct egs_idle_levels *l = d->idle_levels;
	const struct egs_need *need = &j->facts.need;
	struct egs_account_get_blocked b;

	if (egs_grow(&l->job, &l->job_room, l->njobs + 1) < 0 ||
	    egs_grow(&l->queue, &l->queue_room, l->njobs + 1) < 0)
		return -1;
	if (egs_account_get_blocked(d->account, j->ident.job_id, &b) < 0)
		return 0;
	l->queue[l->njobs] =
		(struct queue_entry){ b.priority, j->ident.job_id, l->njobs };
	l->job[l->njobs++] = (struct egs_blocked_job){
		.nodes = need->nodes,
		.want = { need->gpus, need->cores ? need->cores : 1 },
		.mem_mb = need->mem_mb,
		.partitions = partition_bits(l, b.partitions),
		.wanted_nodes = find_filter_nodes(d, b.node_filter),
		.type = need->type,
		.limited = b.limited,
	};
	return 0;
}

static int compare_priority(const void *a, const void *b)
{
	const struct queue_entry *p = a, *q = b;

	if (p->priority != q->priority)
		return p->priority > q->priority ? -1 : 1;
	return p->job_id < q->job_id ? -1 : p->job_id > q->job_id;
}

/* Replace the blocked jobs by an array that is sorted by priority. */
static int sort_queue(struct egs_idle_levels *l)
{
	struct egs_blocked_job *sorted = calloc(l->njobs + 1, sizeof(*sorted));

	if (!sorted)
		return -1;
	if (l->njobs)
		qsort(l->queue, l->njobs, sizeof(*l->queue), compare_priority);
	for (uint32_t i = 0; i < l->njobs; i++)
		sorted[i] = l->job[l->queue[i].job_index];
	free(l->job);
	l->job = sorted;
	l->job_room = l->njobs;
	return 0;
}

static int collect_inputs(struct egs_daemon *d)
{
	struct egs_idle_levels *l = d->idle_levels;
	uint32_t slots = egs_policy_nslots(d->policy), i;
	const struct egs_node_info *n;

	l->nnodes = l->njobs = 0;
	free_filters(l);
	for (i = 0; (n = egs_cluster_get_node(d->cluster, i)); i++)
		if (add_node(d, n) < 0)
			return -1;
	for (i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		if (j && j->running)
			subtract_job(l, j);
		else if (j && !j->facts.not_schedulable &&
			 has_revenue(egs_daemon_conf(d), j) &&
			 add_waiting_job(d, j) < 0)
			return -1;
	}
	return sort_queue(l);
}

/* ---- levels ---- */

static int put_level(struct snapshot *m, const char *scope, const char *metric,
		     uint64_t value)
{
	struct level *level;

	if (!value)
		return 0;
	if (egs_grow(&m->level, &m->room, m->n + 1) < 0)
		return -1;
	level = &m->level[m->n++];
	memset(level, 0, sizeof(*level)); /* for memcmp() */
	snprintf(level->scope, sizeof(level->scope), "%s", scope);
	level->metric = metric;
	level->value = value;
	return 0;
}

static int put_scope_levels(struct snapshot *m, const char *scope,
			    const struct egs_wastage_counts *w)
{
	int i, rc = 0;

	if (!w->all)
		return 0;
	rc |= put_level(m, scope, "seen", 1);
	rc |= put_level(m, scope, "capacity", w->all);
	rc |= put_level(m, scope, "idle", w->idle);
	rc |= put_level(m, scope, "wr", w->available);
	rc |= put_level(m, scope, "fit", w->would_fit);
	for (i = 0; i < EGS_CAUSES; i++)
		rc |= put_level(
			m, scope,
			egs_wastage_cause_name((enum egs_wastage_cause)i),
			w->by_cause[i]);
	return rc;
}

/* Put the levels of all GPUs or cores, of each type and of each partition. */
static int put_all_scopes(struct egs_daemon *d, const char *name,
			  int (*put)(struct snapshot *m, const char *scope,
				     const struct egs_wastage_counts *w))
{
	struct egs_idle_levels *l = d->idle_levels;
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	char scope[160];
	int i, rc;

	rc = put(&l->next, name, &l->wastage.total);
	for (i = 0; i <= c->ntypes; i++) {
		snprintf(scope, sizeof(scope), "%s/type/%s", name,
			 egs_daemon_type_name(c, i));
		rc |= put(&l->next, scope, &l->wastage.type[i]);
	}
	for (i = 0; i < EGS_PARTITIONS_MAX && i < (int)l->partitions.count;
	     i++) {
		snprintf(scope, sizeof(scope), "%s/partition/%s", name,
			 egs_intern_get(&l->partitions, (uint32_t)i + 1));
		rc |= put(&l->next, scope, &l->wastage.partition[i]);
	}
	return rc;
}

static int put_resource_levels(struct egs_daemon *d, enum egs_resource what,
			       const char *name)
{
	struct egs_idle_levels *l = d->idle_levels;

	egs_wastage_compute(&l->wastage, what, l->node, l->nnodes, l->job,
			    l->njobs);
	if (what == EGS_CORES) /* only GPUs have types */
		memset(l->wastage.type, 0, sizeof(l->wastage.type));
	return put_all_scopes(d, name, put_scope_levels);
}

/* ---- GPUs that jobs hold and do not use ---- */

static int collect_held(struct egs_daemon *d)
{
	struct egs_idle_levels *l = d->idle_levels;

	if (egs_grow(&l->held_node, &l->held_node_room, l->nnodes + 1) < 0 ||
	    egs_grow(&l->held, &l->held_room, l->nnodes + 1) < 0)
		return -1;
	memset(l->held, 0, l->nnodes * sizeof(l->held[0]));
	EGS_PARTS_CALL(d, count_held, d, l->held, l->nnodes);
	for (uint32_t i = 0; i < l->nnodes; i++) {
		l->held_node[i] = l->node[i];
		l->held_node[i].all[EGS_GPUS] = l->held[i].measured;
		l->held_node[i].idle[EGS_GPUS] = l->held[i].quiet;
		l->held_node[i].cleaning[EGS_GPUS] = 0;
	}
	return 0;
}

/* 'all' are the GPUs that are measured.  A blocked job could use what is idle
 * for another cause than these.
 */
static int put_held_levels(struct snapshot *m, const char *scope,
			   const struct egs_wastage_counts *w)
{
	uint64_t usable = egs_wastage_sum(w) -
			  w->by_cause[EGS_CAUSE_UNHEALTHY] -
			  w->by_cause[EGS_CAUSE_RESERVATION] -
			  w->by_cause[EGS_CAUSE_CONSTRAINT] -
			  w->by_cause[EGS_CAUSE_QUOTA];
	int rc = put_level(m, scope, "measured", w->all);

	rc |= put_level(m, scope, "held", usable);
	return rc | put_level(m, scope, "wrheld", usable > 0);
}

static int put_held_gpus(struct egs_daemon *d)
{
	struct egs_idle_levels *l = d->idle_levels;

	if (collect_held(d) < 0)
		return -1;
	egs_wastage_compute(&l->wastage, EGS_GPUS, l->held_node, l->nnodes,
			    l->job, l->njobs);
	return put_all_scopes(d, "gpu", put_held_levels);
}

/* ---- all levels ---- */

static int put_team_levels(struct egs_daemon *d, int team, int type)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	struct egs_quota_use h = egs_policy_quota_use(d->policy, team, type);
	struct snapshot *m = &d->idle_levels->next;
	char scope[160];
	int rc;

	snprintf(scope, sizeof(scope), "team/%s/%s", c->team[team].name,
		 egs_daemon_type_name(c, type));
	rc = put_level(m, scope, "quota", h.quota);
	rc |= put_level(m, scope, "owned", h.owned);
	rc |= put_level(m, scope, "loan", h.on_loan);
	rc |= put_level(m, scope, "unmanaged", h.unmanaged);
	rc |= put_level(m, scope, "lent", egs_daemon_count_lent(d, team, type));
	return rc;
}

static int measure_levels(struct egs_daemon *d)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	struct snapshot *m = &d->idle_levels->next;
	int team, type, rc;

	m->n = 0;
	m->at = egs_daemon_now();
	if (collect_inputs(d) < 0)
		return -1;
	rc = put_resource_levels(d, EGS_GPUS, "gpu");
	rc |= put_resource_levels(d, EGS_CORES, "cpu");
	rc |= put_held_gpus(d);
	for (team = 0; team < c->nteams; team++)
		for (type = 0; type <= c->ntypes; type++)
			rc |= put_team_levels(d, team, type);
	return rc;
}

static bool has_same_levels(const struct snapshot *a, const struct snapshot *b)
{
	return a->at && a->n == b->n &&
	       (!a->n ||
		memcmp(a->level, b->level, a->n * sizeof(a->level[0])) == 0);
}

int egs_daemon_save_levels(struct egs_daemon *d, struct egs_err *err)
{
	struct egs_idle_levels *l;

	if (!d->idle_levels)
		d->idle_levels = calloc(1, sizeof(*d->idle_levels));
	l = d->idle_levels;
	if (!l)
		return 0;
	l->next_saved = false;
	if (!d->synced || d->slurmctld_down || measure_levels(d) < 0)
		return 0; /* the old levels stay valid for now */
	if (has_same_levels(&l->now, &l->next) && !d->in_transaction)
		return 0;
	if (egs_daemon_begin(d, err) < 0)
		return -1;
	for (size_t i = 0; l->now.at && i < l->now.n; i++)
		if (egs_daemon_check_store(
			    d,
			    egs_history_tally_add(
				    d->store, l->now.level[i].scope,
				    l->now.level[i].metric, l->now.at,
				    l->next.at, l->now.level[i].value, err),
			    err) < 0)
			return -1;
	l->next_saved = true;
	return 0;
}

static uint64_t get_amount(const struct level *level, egs_time_t from,
			   egs_time_t to)
{
	return to > from ? level->value * (uint64_t)(to - from) : 0;
}

void egs_daemon_commit_levels(struct egs_daemon *d)
{
	struct egs_idle_levels *l = d->idle_levels;
	struct snapshot was;

	if (!l || !l->next_saved)
		return;
	was = l->now;
	for (size_t i = 0; was.at && i < was.n; i++)
		EGS_PARTS_CALL(d, level_ended, d, was.level[i].scope,
			       was.level[i].metric,
			       get_amount(&was.level[i], was.at, l->next.at));
	l->now = l->next;
	l->next = was;
	l->next_saved = false;
}

void egs_daemon_each_level(const struct egs_daemon *d,
			   void (*fn)(void *arg, const char *scope,
				      const char *metric, uint64_t value,
				      uint64_t amount),
			   void *arg)
{
	const struct snapshot *now =
		d->idle_levels ? &d->idle_levels->now : NULL;

	for (size_t i = 0; now && now->at && i < now->n; i++)
		fn(arg, now->level[i].scope, now->level[i].metric,
		   now->level[i].value,
		   get_amount(&now->level[i], now->at, egs_daemon_now()));
}

void egs_daemon_invalidate_levels(struct egs_daemon *d)
{
	if (d->idle_levels)
		d->idle_levels->now.at = 0;
}

void egs_idle_levels_free(struct egs_idle_levels *l)
{
	if (!l)
		return;
	free(l->now.level);
	free(l->next.level);
	free(l->node);
	free(l->held_node);
	free(l->held);
	free(l->job);
	free(l->queue);
	free_filters(l);
	egs_intern_clear(&l->partitions);
	free(l);
}
