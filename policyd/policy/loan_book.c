/* loan_book.c - which jobs of a team are within quota, which on loan */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/policy/loan_book.h"

static int compare_entries(const struct egs_loan_entry *a,
			   const struct egs_loan_entry *b)
{
	if (a->tier != b->tier)
		return a->tier < b->tier ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->job_id < b->job_id ? -1 : a->job_id > b->job_id;
}

/* The first position that is not before 'e'. */
static uint32_t find_position(const struct egs_loan_book *l,
			      const struct egs_loan_entry *e)
{
	uint32_t lo = 0, hi = l->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (compare_entries(&l->entry[mid], e) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int egs_loan_book_reserve(struct egs_loan_book *l, uint32_t more)
{
	return egs_grow(&l->entry, &l->room, l->n + more);
}

void egs_loan_book_add(struct egs_loan_book *l, const struct egs_loan_entry *e)
{
	uint32_t at = find_position(l, e);

	memmove(&l->entry[at + 1], &l->entry[at],
		(l->n - at) * sizeof(l->entry[0]));
	l->entry[at] = *e;
	l->n++;
}

static struct egs_loan_entry *find_entry(struct egs_loan_book *l, uint8_t tier,
					 egs_time_t start, uint32_t job_id)
{
	struct egs_loan_entry key = { .tier = tier,
				      .start = start,
				      .job_id = job_id };
	uint32_t at = find_position(l, &key);

	if (at == l->n || compare_entries(&l->entry[at], &key) != 0)
		return NULL;
	return &l->entry[at];
}

void egs_loan_book_remove(struct egs_loan_book *l, uint8_t tier,
			  egs_time_t start, uint32_t job_id)
{
	struct egs_loan_entry *e = find_entry(l, tier, start, job_id);

	if (!e)
		return;
	l->n--;
	memmove(e, e + 1, (size_t)(&l->entry[l->n] - e) * sizeof(*e));
}

static egs_time_t protection_end(const struct egs_loan_entry *e,
				 const struct egs_policy_conf *conf)
{
	return e->start + conf->tier[e->tier].min_runtime_s;
}

/* Owned, and within its MinRuntime. */
static bool is_protected(const struct egs_loan_entry *e,
			 const struct egs_policy_conf *conf, egs_time_t now)
{
	return e->owned && now < protection_end(e, conf);
}

static uint32_t quota_for_jobs(const struct egs_loan_book *l)
{
	return egs_sub(egs_sub(l->quota, l->unmanaged), l->claimed);
}

/* The quota that protected jobs leave for the others. */
static uint32_t quota_after_protected(const struct egs_loan_book *l,
				      const struct egs_policy_conf *conf,
				      egs_time_t now)
{
	uint32_t left = quota_for_jobs(l);

	for (uint32_t i = 0; i < l->n; i++)
		if (is_protected(&l->entry[i], conf, now))
			left = egs_sub(left, l->entry[i].gpus);
	return left;
}

/* Do limits other than the quota let the job be owned? */
static bool is_within_limits(const struct egs_loan_book *l,
			     const struct egs_policy_conf *conf,
			     const struct egs_loan_entry *e, uint32_t before,
			     bool *over)
{
	uint64_t with = (uint64_t)before + e->gpus;

	*over = l->over_hours || e->workload_over_limit || with > l->max_gpus;
	return !*over && conf->tier[e->tier].loan != EGS_LOAN_ALWAYS;
}

static void set_entry_state(struct egs_loan_entry *e, bool owned, bool floor,
			    bool over)
{
	e->changed = e->owned != owned || e->in_floor != floor ||
		     e->over_limit != over;
	e->owned = owned;
	e->in_floor = floor;
	e->over_limit = over;
}

/* Add a job to the sums.  The next walk is due when the first protection of an
 * owned job ends.
 */
static void count_entry(struct egs_loan_book *l,
			const struct egs_policy_conf *conf,
			const struct egs_loan_entry *e, egs_time_t now)
{
	bool protected = is_protected(e, conf, now);

	if (!e->owned) {
		l->on_loan += e->gpus;
		l->loan_by_tier[e->tier] += e->gpus;
		return;
	}
	l->owned += e->gpus;
	l->owned_by_tier[e->tier] += e->gpus;
	if (protected || e->in_floor)
		l->protected_by_tier[e->tier] += e->gpus;
	if (protected && protection_end(e, conf) < l->next_recompute)
		l->next_recompute = protection_end(e, conf);
}

/* Larger jobs count as of this size. */
enum { SIZES_MAX = 65 };

struct walk_state {
	const struct egs_policy_conf *conf;
	int type;
	egs_time_t now;
	uint32_t quota_left;
	uint32_t floor_covered[EGS_WORKLOADS_MAX];
	uint32_t slack_by_size[SIZES_MAX + 1]; /* 1 + slack of the last job of
						* each size, 0: none */
	uint8_t tier;			       /* of these jobs */
};

static bool can_be_owned(const struct egs_loan_book *l,
			 const struct walk_state *w,
			 const struct egs_loan_entry *e, bool *over)
{
	bool can = is_within_limits(l, w->conf, e, l->owned + l->on_loan, over);

	return is_protected(e, w->conf, w->now) ||
	       (can && e->gpus <= w->quota_left);
}

/* What the quota and MaxGpus leave behind an owned job is what can start before
 * it.  A protected job, and one that fills a floor, stays owned.
 */
static uint32_t find_slack(const struct egs_loan_book *l,
			   const struct walk_state *w,
			   const struct egs_loan_entry *e)
{
	uint32_t used = l->owned + l->on_loan + e->gpus;
	uint32_t limit = egs_sub(l->max_gpus, used);
	uint32_t slack = w->quota_left < limit ? w->quota_left : limit;

	if (!e->owned || w->now < protection_end(e, w->conf) || e->in_floor)
		return EGS_SLACK_NO_END;
	return slack < EGS_SLACK_NO_END ? slack : EGS_SLACK_NO_END - 1;
}

/* The slack of the last larger job of the tier ends the span. */
static uint32_t find_span(struct walk_state *w, const struct egs_loan_entry *e,
			  uint32_t slack)
{
	uint32_t end = EGS_SLACK_NO_END;
	uint32_t size = e->gpus < SIZES_MAX ? e->gpus : SIZES_MAX;

	if (slack == EGS_SLACK_NO_END)
		return EGS_SPAN_NO_END;
	if (w->tier != e->tier)
		memset(w->slack_by_size, 0, sizeof(w->slack_by_size));
	w->tier = e->tier;
	for (uint32_t i = size + 1; i <= SIZES_MAX; i++)
		if (w->slack_by_size[i] && w->slack_by_size[i] - 1 < end)
			end = w->slack_by_size[i] - 1;
	w->slack_by_size[size] = slack + 1;
	if (end == EGS_SLACK_NO_END)
		return EGS_SPAN_NO_END;
	return end - slack < EGS_SPAN_NO_END ? end - slack
					     : EGS_SPAN_NO_END - 1;
}

static void set_entry_slack(struct egs_loan_book *l, struct walk_state *w,
			    struct egs_loan_entry *e)
{
	uint32_t slack = find_slack(l, w, e), span = find_span(w, e, slack);

	e->changed |= e->slack != slack || e->span != span;
	e->slack = slack;
	e->span = span;
}

static void visit_entry(struct egs_loan_book *l, struct walk_state *w,
			struct egs_loan_entry *e)
{
	bool protected = is_protected(e, w->conf, w->now);
	bool over;
	bool owned = can_be_owned(l, w, e, &over);

	if (owned && !protected)
		w->quota_left -= e->gpus;
	set_entry_state(e, owned, e->visited_for_floor, over);
	set_entry_slack(l, w, e);
	count_entry(l, w->conf, e, w->now);
}

static bool has_floors(const struct walk_state *w)
{
	for (int i = 0; i < w->conf->nworkloads; i++)
		if (w->conf->workload[i].floor[w->type])
			return true;
	return false;
}

/* Jobs fill a floor until it is reached, and come before the others. */
static void visit_floors(struct egs_loan_book *l, struct walk_state *w)
{
	for (uint32_t i = 0; i < l->n; i++) {
		struct egs_loan_entry *e = &l->entry[i];
		bool over;

		if (e->workload < 0 ||
		    w->floor_covered[e->workload] >=
			    w->conf->workload[e->workload].floor[w->type] ||
		    !can_be_owned(l, w, e, &over))
			continue;
		w->floor_covered[e->workload] += e->gpus;
		e->visited_for_floor = true;
		visit_entry(l, w, e);
	}
}

void egs_loan_book_recompute(struct egs_loan_book *l,
			     const struct egs_policy_conf *conf, int type,
			     egs_time_t now)
{
	struct walk_state w = { .conf = conf,
				.type = type,
				.now = now,
				.quota_left =
					quota_after_protected(l, conf, now) };

	l->owned = l->on_loan = 0;
	l->next_recompute = INT64_MAX;
	memset(l->owned_by_tier, 0, sizeof(l->owned_by_tier));
	memset(l->protected_by_tier, 0, sizeof(l->protected_by_tier));
	memset(l->loan_by_tier, 0, sizeof(l->loan_by_tier));
	for (uint32_t i = 0; i < l->n; i++)
		l->entry[i].visited_for_floor = false;
	if (has_floors(&w))
		visit_floors(l, &w);
	for (uint32_t i = 0; i < l->n; i++)
		if (!l->entry[i].visited_for_floor)
			visit_entry(l, &w, &l->entry[i]);
}

uint32_t egs_loan_book_quota_left(const struct egs_loan_book *l, int tier)
{
	uint32_t left = quota_for_jobs(l);

	for (int t = 0; t < EGS_TIERS_MAX; t++)
		left = egs_sub(left, t <= tier ? l->owned_by_tier[t]
					       : l->protected_by_tier[t]);
	return left;
}

uint32_t egs_loan_book_floor_gpus(const struct egs_loan_book *l, int workload)
{
	uint32_t gpus = 0;

	for (uint32_t i = 0; i < l->n; i++)
		if (l->entry[i].in_floor && l->entry[i].workload == workload)
			gpus += l->entry[i].gpus;
	return gpus;
}

void egs_loan_book_clear(struct egs_loan_book *l)
{
	free(l->entry);
	l->entry = NULL;
	l->n = l->room = 0;
}
