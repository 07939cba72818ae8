/* loan_book.c - which jobs of a team are owned and which are on loan */
#include <stdlib.h>
#include <string.h>

#include "policyd/policy/loan_book.h"

static int by_order(const struct egs_entry *a, const struct egs_entry *b)
{
	if (a->tier != b->tier)
		return a->tier < b->tier ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->job_id < b->job_id ? -1 : a->job_id > b->job_id;
}

/* The first place where 'e' is not after what is there. */
static uint32_t place(const struct egs_ledger *l, const struct egs_entry *e)
{
	uint32_t lo = 0, hi = l->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (by_order(&l->entry[mid], e) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int egs_ledger_reserve(struct egs_ledger *l, uint32_t more)
{
	uint32_t room = l->room * 2;
	struct egs_entry *entry;

	if (l->n + more <= l->room)
		return 0;
	if (room < l->n + more)
		room = l->n + more;
	entry = realloc(l->entry, room * sizeof(*entry));
	if (!entry)
		return -1;
	l->entry = entry;
	l->room = room;
	return 0;
}

void egs_ledger_add(struct egs_ledger *l, const struct egs_entry *e)
{
	uint32_t at = place(l, e);

	memmove(&l->entry[at + 1], &l->entry[at],
		(l->n - at) * sizeof(l->entry[0]));
	l->entry[at] = *e;
	l->n++;
}

struct egs_entry *egs_ledger_find(struct egs_ledger *l, uint8_t tier,
				  egs_time_t start, uint32_t job_id)
{
	struct egs_entry key = { .tier = tier,
				 .start = start,
				 .job_id = job_id };
	uint32_t at = place(l, &key);

	if (at == l->n || by_order(&l->entry[at], &key) != 0)
		return NULL;
	return &l->entry[at];
}

void egs_ledger_remove(struct egs_ledger *l, uint8_t tier, egs_time_t start,
		       uint32_t job_id)
{
	struct egs_entry *e = egs_ledger_find(l, tier, start, job_id);

	if (!e)
		return;
	l->n--;
	memmove(e, e + 1, (size_t)(&l->entry[l->n] - e) * sizeof(*e));
}

static uint32_t less(uint32_t a, uint32_t b)
{
	return a > b ? a - b : 0;
}

static egs_time_t bound_until(const struct egs_entry *e,
			      const struct egs_policy_conf *conf)
{
	return e->start + conf->tier[e->tier].min_runtime_s;
}

/* Owned, and its MinRuntime is not over. */
static bool is_bound(const struct egs_entry *e,
		     const struct egs_policy_conf *conf, egs_time_t now)
{
	return e->owned && now < bound_until(e, conf);
}

/* The quota, less what is nobody's to walk for. */
static uint32_t to_walk(const struct egs_ledger *l)
{
	return less(less(l->quota, l->unmanaged), l->claimed);
}

/* What jobs that are bound leave of the quota for the others. */
static uint32_t after_bound(const struct egs_ledger *l,
			    const struct egs_policy_conf *conf, egs_time_t now)
{
	uint32_t left = to_walk(l);

	for (uint32_t i = 0; i < l->n; i++)
		if (is_bound(&l->entry[i], conf, now))
			left = less(left, l->entry[i].gpus);
	return left;
}

/* The limits, apart from the quota: may this one be owned? */
static bool may_own(const struct egs_ledger *l,
		    const struct egs_policy_conf *conf,
		    const struct egs_entry *e, uint32_t before, bool *over)
{
	uint64_t with = (uint64_t)before + e->gpus;

	*over = l->over_hours || e->barred || with > l->max_gpus;
	return !*over && conf->tier[e->tier].loan != EGS_LOAN_ALWAYS;
}

static void settle(struct egs_entry *e, bool owned, bool floor, bool over)
{
	e->changed = e->owned != owned || e->floor != floor || e->over != over;
	e->owned = owned;
	e->floor = floor;
	e->over = over;
}

/* Add a job to the sums; the walk is due again when the first bound job no
 * longer is.
 */
static void count(struct egs_ledger *l, const struct egs_policy_conf *conf,
		  const struct egs_entry *e, egs_time_t now)
{
	bool bound = is_bound(e, conf, now);

	if (!e->owned) {
		l->on_loan += e->gpus;
		l->loan_at[e->tier] += e->gpus;
		return;
	}
	l->owned += e->gpus;
	l->owned_at[e->tier] += e->gpus;
	if (bound || e->floor)
		l->bound_at[e->tier] += e->gpus;
	if (bound && bound_until(e, conf) < l->again)
		l->again = bound_until(e, conf);
}

/* What a walk knows on its way. */
struct walk {
	const struct egs_policy_conf *conf;
	int type;
	egs_time_t now;
	uint32_t left; /* of the quota */
	uint32_t covered[EGS_WORKLOADS_MAX];
};

static bool can_be_owned(const struct egs_ledger *l, const struct walk *w,
			 const struct egs_entry *e, bool *over)
{
	bool can = may_own(l, w->conf, e, l->owned + l->on_loan, over);

	return is_bound(e, w->conf, w->now) || (can && e->gpus <= w->left);
}

static void visit(struct egs_ledger *l, struct walk *w, struct egs_entry *e)
{
	bool bound = is_bound(e, w->conf, w->now);
	bool over;
	bool owned = can_be_owned(l, w, e, &over);

	if (owned && !bound)
		w->left -= e->gpus;
	settle(e, owned, e->first, over);
	count(l, w->conf, e, w->now);
}

static bool has_floors(const struct walk *w)
{
	for (int i = 0; i < w->conf->nworkloads; i++)
		if (w->conf->workload[i].floor[w->type])
			return true;
	return false;
}

/* Jobs hold up a floor until it is reached, and come before the others. */
static void visit_floors(struct egs_ledger *l, struct walk *w)
{
	for (uint32_t i = 0; i < l->n; i++) {
		struct egs_entry *e = &l->entry[i];
		bool over;

		if (e->workload < 0 ||
		    w->covered[e->workload] >=
			    w->conf->workload[e->workload].floor[w->type] ||
		    !can_be_owned(l, w, e, &over))
			continue;
		w->covered[e->workload] += e->gpus;
		e->first = true;
		visit(l, w, e);
	}
}

void egs_ledger_walk(struct egs_ledger *l, const struct egs_policy_conf *conf,
		     int type, egs_time_t now)
{
	struct walk w = { .conf = conf,
			  .type = type,
			  .now = now,
			  .left = after_bound(l, conf, now) };

	l->owned = l->on_loan = 0;
	l->again = INT64_MAX;
	memset(l->owned_at, 0, sizeof(l->owned_at));
	memset(l->bound_at, 0, sizeof(l->bound_at));
	memset(l->loan_at, 0, sizeof(l->loan_at));
	for (uint32_t i = 0; i < l->n; i++)
		l->entry[i].first = false;
	if (has_floors(&w))
		visit_floors(l, &w);
	for (uint32_t i = 0; i < l->n; i++)
		if (!l->entry[i].first)
			visit(l, &w, &l->entry[i]);
}

uint32_t egs_ledger_left(const struct egs_ledger *l, int tier)
{
	uint32_t left = to_walk(l);

	for (int t = 0; t < EGS_TIERS_MAX; t++)
		left = less(left, t <= tier ? l->owned_at[t] : l->bound_at[t]);
	return left;
}

uint32_t egs_ledger_floor(const struct egs_ledger *l, int workload)
{
	uint32_t gpus = 0;

	for (uint32_t i = 0; i < l->n; i++)
		if (l->entry[i].floor && l->entry[i].workload == workload)
			gpus += l->entry[i].gpus;
	return gpus;
}

void egs_ledger_clear(struct egs_ledger *l)
{
	free(l->entry);
	l->entry = NULL;
	l->n = l->room = 0;
}
