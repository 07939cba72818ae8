/* health.c - rules about GPUs: samples in, remedies out */
#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"
#include "policyd/health/health_internal.h"
#include "policyd/health/xid.h"

enum {
	/* Samples further apart than this are not one time. */
	GAP_SAMPLES = 3,
	GAP_SLACK_S = 10,
};

struct egs_health *egs_health_new(void)
{
	return calloc(1, sizeof(struct egs_health));
}

void egs_health_free(struct egs_health *h)
{
	if (!h)
		return;
	for (int i = 0; i < h->nrules; i++)
		free(h->rule[i].used);
	for (uint32_t i = 0; i < h->nnodes; i++) {
		struct egs_health_case *c = h->node[i].first;

		while (c) {
			struct egs_health_case *next = c->next;

			free(c);
			c = next;
		}
	}
	free(h->node);
	free(h->action);
	free(h);
}

/* ---- actions ---- */

struct egs_health_action egs_health_make_action(const struct egs_health *h,
						uint32_t node,
						const struct egs_health_case *c)
{
	const struct egs_rule *rule = &h->rule[c->rule].conf;
	struct egs_health_action a = {
		.on = rule->on,
		.node = node,
		.gpu = c->gpu,
		.xid = c->xid,
		.value = c->value,
		.session = c->session,
		.holder = c->holder,
		.remedies = c->done & ~c->taken,
		.ended = c->done | c->held_back,
		.observed = c->observed,
	};

	memcpy(a.rule, rule->name, sizeof(a.rule));
	return a;
}

void egs_health_push_action(struct egs_health *h,
			    const struct egs_health_action *a)
{
	if (egs_grow(&h->action, &h->action_room, h->nactions + 1) == 0)
		h->action[h->nactions++] = *a;
}

const struct egs_health_action *egs_health_actions(const struct egs_health *h,
						   size_t *n)
{
	*n = h->nactions;
	return h->action;
}

void egs_health_clear_actions(struct egs_health *h)
{
	h->nactions = 0;
}

/* ---- nodes and RemediateMax= ---- */

void egs_health_set_max(struct egs_health *h, uint32_t percent, uint32_t nodes)
{
	uint64_t max = (uint64_t)nodes * percent / 100;

	h->nodes_max = max || !percent ? (uint32_t)max : 1;
}

void egs_health_count_node(struct egs_health *h, struct egs_health_node *node)
{
	bool acted_on = false;

	for (const struct egs_health_case *c = node->first; c; c = c->next)
		acted_on |= (c->done & ~c->taken & EGS_REMEDY_ACTS) != 0;
	h->nacted_on += acted_on;
	h->nacted_on -= node->acted_on;
	node->acted_on = acted_on;
}

struct egs_health_node *egs_health_get_node(const struct egs_health *h,
					    uint32_t node)
{
	return node < h->nnodes ? &h->node[node] : NULL;
}

struct egs_health_node *egs_health_make_node(struct egs_health *h,
					     uint32_t node)
{
	if (egs_grow(&h->node, &h->nnodes, (size_t)node + 1) < 0)
		return NULL;
	return &h->node[node];
}

/* ---- Limit= ---- */

/* An entry is added only within the limit, so there are few. */
int egs_health_add_use(struct egs_health_rule *rule, egs_time_t at)
{
	size_t i = rule->nused;

	if (rule->conf.limit.count == EGS_UNLIMITED)
		return 0;
	if (egs_grow(&rule->used, &rule->room, rule->nused + 1) < 0)
		return -1;
	for (; i > 0 && rule->used[i - 1] > at; i--)
		rule->used[i] = rule->used[i - 1];
	rule->used[i] = at;
	rule->nused++;
	return 0;
}

static bool is_limit_reached(struct egs_health_rule *rule, egs_time_t now)
{
	const struct egs_rate *limit = &rule->conf.limit;
	size_t old = 0;

	if (limit->count == EGS_UNLIMITED)
		return false;
	while (old < rule->nused &&
	       rule->used[old] + (egs_time_t)limit->per_s <= now)
		old++;
	rule->nused -= old;
	if (old)
		memmove(rule->used, rule->used + old,
			rule->nused * sizeof(rule->used[0]));
	return rule->nused >= limit->count;
}

/* ---- cases ---- */

struct egs_health_case *egs_health_find_case(const struct egs_health_node *node,
					     int rule, uint32_t gpu,
					     uint32_t xid)
{
	struct egs_health_case *c = node->first;

	while (c && (c->rule != rule || c->gpu != gpu || c->xid != xid))
		c = c->next;
	return c;
}

struct egs_health_case *egs_health_add_case(struct egs_health_node *node,
					    int rule,
					    const struct egs_health_gpu *gpu,
					    uint32_t xid, egs_time_t now)
{
	struct egs_health_case *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->rule = rule;
	c->gpu = gpu->gpu;
	c->xid = xid;
	c->session = gpu->session;
	c->holder = gpu->holder;
	c->since = c->seen = now;
	c->next = node->first;
	node->first = c;
	return c;
}

static void remove_case(struct egs_health_node *node, struct egs_health_case *c)
{
	struct egs_health_case **at = &node->first;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	free(c);
}

void egs_health_end_case(struct egs_health *h, struct egs_health_node *node,
			 struct egs_health_case *c)
{
	struct egs_health_action a =
		egs_health_make_action(h, (uint32_t)(node - h->node), c);

	a.kind = EGS_HEALTH_UNDO;
	if (a.ended)
		egs_health_push_action(h, &a);
	remove_case(node, c);
	egs_health_count_node(h, node);
}

/* Do these remedies, which the limits allow. */
static void do_remedies(struct egs_health *h, struct egs_health_node *node,
			struct egs_health_case *c, uint32_t remedies)
{
	struct egs_health_action a =
		egs_health_make_action(h, (uint32_t)(node - h->node), c);

	a.kind = EGS_HEALTH_DO;
	a.remedies = remedies;
	a.observed = !h->acting;
	if (!remedies)
		return;
	c->observed |= a.observed && remedies & ~(uint32_t)EGS_REMEDY_NOTE;
	egs_health_push_action(h, &a);
	c->done |= remedies;
	egs_health_count_node(h, node);
}

/* Tell once that these remedies wait for a limit. */
static void hold_remedies(struct egs_health *h,
			  const struct egs_health_node *node,
			  struct egs_health_case *c, uint32_t remedies,
			  enum egs_health_bound bound)
{
	struct egs_health_action a =
		egs_health_make_action(h, (uint32_t)(node - h->node), c);

	a.kind = EGS_HEALTH_HOLD;
	a.bound = bound;
	a.remedies = remedies & ~c->held_back;
	if (!a.remedies)
		return;
	egs_health_push_action(h, &a);
	c->held_back |= remedies;
}

/* The condition has held long enough: do what is not done yet. */
static void fire_case(struct egs_health *h, struct egs_health_node *node,
		      struct egs_health_case *c, uint32_t allowed,
		      egs_time_t now)
{
	struct egs_health_rule *rule = &h->rule[c->rule];
	uint32_t want =
		(rule->conf.does.set | EGS_REMEDY_NOTE) & allowed & ~c->done;
	uint32_t acts = want & EGS_REMEDY_ACTS;
	bool full = !node->acted_on && h->nacted_on >= h->nodes_max;

	do_remedies(h, node, c, want & EGS_REMEDY_NOTE);
	want &= ~(uint32_t)EGS_REMEDY_NOTE;
	if (!want)
		return;
	if (!c->used_limit && is_limit_reached(rule, now)) {
		hold_remedies(h, node, c, want, EGS_HEALTH_LIMIT);
		return;
	}
	if (acts && full) {
		hold_remedies(h, node, c, acts, EGS_HEALTH_MAX);
		want &= ~acts;
	}
	if (want && !c->used_limit)
		c->used_limit = egs_health_add_use(rule, now) == 0;
	if (c->used_limit)
		do_remedies(h, node, c, want);
}

/* ---- conditions ---- */

static bool is_exceeded(const struct egs_rule *rule, int64_t value)
{
	return value > (rule->above == EGS_UNSET ? 0 : (int64_t)rule->above);
}

static egs_time_t get_gap_s(const struct egs_health_gpu *gpu)
{
	return (egs_time_t)GAP_SAMPLES * gpu->interval_s + GAP_SLACK_S;
}

/* Note whether the condition holds; 'since' is when that began. */
static void follow_case(struct egs_health_case *c, bool holds,
			const struct egs_health_gpu *gpu, egs_time_t now)
{
	if (c->gone == holds || now - c->seen > get_gap_s(gpu))
		c->since = now;
	c->gone = !holds;
	c->seen = now;
}

/* A case without a note has not held for For= yet. */
static int judge_value(struct egs_health *h, struct egs_health_node *node,
		       int i, const struct egs_health_gpu *gpu, egs_time_t now)
{
	const struct egs_rule *rule = &h->rule[i].conf;
	struct egs_health_case *c = egs_health_find_case(node, i, gpu->gpu, 0);
	int64_t value = gpu->value[rule->on];
	bool holds = value >= 0 && is_exceeded(rule, value);

	if (c && !holds && !c->done) {
		remove_case(node, c);
		return 0;
	}
	if (value < 0 || (!c && !holds))
		return 0;
	if (!c && !(c = egs_health_add_case(node, i, gpu, 0, now)))
		return -1;
	follow_case(c, holds, gpu, now);
	if (holds)
		c->value = value;
	if (!c->done)
		c->holder = gpu->holder;
	if (now - c->since < (egs_time_t)rule->for_s)
		return 0;
	if (holds)
		fire_case(h, node, c, UINT32_MAX, now);
	else
		egs_health_end_case(h, node, c);
	return 0;
}

/* ---- XIDs ---- */

static bool has_complaint(const struct egs_health_gpu *gpu)
{
	return gpu->value[EGS_ON_RECOVERY] > 0 || gpu->value[EGS_ON_ECC] > 0;
}

/* The driver does not tell whether the GPU is well: an operator decides. */
static bool awaits_operator(const struct egs_health_case *c,
			    const struct egs_health_gpu *gpu)
{
	return gpu->value[EGS_ON_RECOVERY] < 0 && !gpu->node_up &&
	       c->done & ~c->taken & (EGS_REMEDY_FENCE | EGS_REMEDY_DRAIN);
}

static bool is_still_wrong(const struct egs_health_case *c,
			   const struct egs_health_gpu *gpu)
{
	return c->done & EGS_REMEDY_ACTS &&
	       (has_complaint(gpu) || awaits_operator(c, gpu));
}

/* egs-noded has started anew: what is not wrong any more ends. */
static void end_old_xids(struct egs_health *h, struct egs_health_node *node,
			 int i, const struct egs_health_gpu *gpu)
{
	struct egs_health_case *next;

	for (struct egs_health_case *c = node->first; c; c = next) {
		next = c->next;
		if (c->rule == i && c->gpu == gpu->gpu && gpu->session &&
		    c->session != gpu->session && !is_still_wrong(c, gpu))
			egs_health_end_case(h, node, c);
	}
}

/* The next job on the GPU has caused the XID, too: it gets its own note. */
static void note_again(struct egs_health *h, struct egs_health_node *node,
		       struct egs_health_case *c, uint64_t holder)
{
	struct egs_health_action a =
		egs_health_make_action(h, (uint32_t)(node - h->node), c);

	a.kind = EGS_HEALTH_UNDO;
	a.remedies = a.ended = EGS_REMEDY_NOTE;
	egs_health_push_action(h, &a);
	c->holder = holder;
	c->done &= ~(uint32_t)EGS_REMEDY_NOTE;
}

static int judge_xid(struct egs_health *h, struct egs_health_node *node, int i,
		     const struct egs_health_gpu *gpu,
		     const struct egs_health_xid *xid, egs_time_t now)
{
	uint32_t allowed = egs_xid_allow(egs_xid_classify(xid->number));
	struct egs_health_case *c =
		egs_health_find_case(node, i, gpu->gpu, xid->number);

	if (!xid->count)
		return 0;
	if (!c && !(c = egs_health_add_case(node, i, gpu, xid->number, now)))
		return -1;
	if (!c->done)
		c->holder = xid->holder;
	if (c->session != gpu->session)
		c->xids = 0;
	if (c->done && xid->count > c->xids && xid->holder &&
	    xid->holder != c->holder && !(allowed & EGS_REMEDY_ACTS))
		note_again(h, node, c, xid->holder);
	c->session = gpu->session;
	c->xids = xid->count;
	c->seen = now;
	fire_case(h, node, c, allowed, now);
	return 0;
}

static int judge_xids(struct egs_health *h, struct egs_health_node *node, int i,
		      const struct egs_health_gpu *gpu, egs_time_t now)
{
	end_old_xids(h, node, i, gpu);
	for (size_t k = 0; k < gpu->nxids; k++)
		if (judge_xid(h, node, i, gpu, &gpu->xid[k], now) < 0)
			return -1;
	return 0;
}

int egs_health_add_sample(struct egs_health *h,
			  const struct egs_health_gpu *gpu, egs_time_t now)
{
	struct egs_health_node *node = egs_health_make_node(h, gpu->node);
	int rc = node ? 0 : -1;

	for (int i = 0; rc == 0 && i < h->nrules; i++)
		rc = h->rule[i].conf.on == EGS_ON_XID
			     ? judge_xids(h, node, i, gpu, now)
			     : judge_value(h, node, i, gpu, now);
	return rc;
}
