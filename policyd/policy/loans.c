/* loans.c - quotas in force, loans and limits of all teams */
#include <stdlib.h>
#include <string.h>

#include "policyd/policy/policy_internal.h"

struct egs_loan_book *egs_loans_book(const struct egs_policy *p, int team,
				     int type)
{
	return &p->loan_book[team * egs_policy_ntypes(p) + type];
}

int egs_loans_new(struct egs_policy *p)
{
	size_t n = (size_t)p->conf->nteams * (size_t)egs_policy_ntypes(p);
	struct egs_loan_book *l = calloc(n ? n : 1, sizeof(*l));

	if (!l)
		return -1;
	p->loan_book = l;
	for (size_t i = 0; i < n; i++)
		l[i].next_recompute = INT64_MAX;
	egs_loans_set_quotas(p);
	return 0;
}

void egs_loans_free(struct egs_loan_book *book, int nteams, int ntypes)
{
	for (int i = 0; book && i < nteams * ntypes; i++)
		egs_loan_book_clear(&book[i]);
	free(book);
}

static struct egs_loan_entry make_entry(const struct egs_policy *p,
					const struct egs_job *j)
{
	int w = j->facts.workload;

	return (struct egs_loan_entry){
		.start = j->started,
		.job_id = j->ident.job_id,
		.slot = egs_jobs_slot(&p->jobs, j),
		.gpus = egs_job_gpus_of_first_type(j),
		.workload = j->facts.workload,
		.tier = (uint8_t)j->facts.tier,
		.workload_over_limit = w >= 0 && p->workload_over_limit[w]
	};
}

int egs_loans_reserve(struct egs_policy *p, int team, int type)
{
	return team < 0 ? 0
			: egs_loan_book_reserve(egs_loans_book(p, team, type),
						1);
}

/* A job has an entry in the book of its first type.  Its GPUs of other types
 * count there as those of unmanaged jobs do.  Begin to count them ('on'), or
 * stop.
 */
static void count_other_types(struct egs_policy *p, const struct egs_job *j,
			      bool on)
{
	for (int t = 0; t < egs_policy_ntypes(p); t++) {
		uint32_t gpus = j->facts.by_type[t];
		struct egs_loan_book *l = egs_loans_book(p, j->facts.team, t);

		if (!gpus || t == j->type)
			continue;
		l->unmanaged += on ? gpus : 0 - gpus;
		l->dirty = true;
	}
}

/* The caller has reserved room in the book.  A job without a team is in no
 * book: it is on loan only if its tier has Loan=always.
 */
void egs_loans_add_job(struct egs_policy *p, struct egs_job *j, bool owned)
{
	struct egs_loan_entry e = make_entry(p, j);
	bool was = j->on_loan;
	struct egs_loan_book *l;

	j->on_loan = j->facts.tier >= 0 && j->facts.team < 0 &&
		     p->conf->tier[j->facts.tier].loan == EGS_LOAN_ALWAYS;
	if (j->facts.team < 0 || !j->gpus)
		return;
	count_other_types(p, j, true);
	l = egs_loans_book(p, j->facts.team, j->type);
	l->dirty = true;
	if (j->facts.tier < 0) {
		l->unmanaged += e.gpus;
		return;
	}
	e.owned = owned;
	j->on_loan = !owned;
	j->in_floor = j->over_limit = false;
	j->slack_gpus = e.slack = EGS_SLACK_NO_END;
	if (!owned && !was)
		j->loan_since = p->now;
	egs_loan_book_add(l, &e);
}

void egs_loans_remove_job(struct egs_policy *p, const struct egs_job *j)
{
	struct egs_loan_book *l;

	if (j->facts.team < 0 || !j->gpus)
		return;
	count_other_types(p, j, false);
	l = egs_loans_book(p, j->facts.team, j->type);
	l->dirty = true;
	if (j->facts.tier < 0)
		l->unmanaged -= egs_job_gpus_of_first_type(j);
	else
		egs_loan_book_remove(l, (uint8_t)j->facts.tier, j->started,
				     j->ident.job_id);
}

uint32_t egs_loans_node_gpus(const struct egs_node *n, uint8_t type)
{
	if (n->mixed && type != EGS_TYPE_ANY)
		return n->by_type[type];
	return type == EGS_TYPE_ANY || n->type == type ? n->gpus : 0;
}

static void count_capacity(struct egs_policy *p)
{
	for (int t = 0; t < egs_policy_ntypes(p); t++) {
		p->sums[t].total = p->sums[t].up = p->sums[t].quotas = 0;
		for (int i = 0; i < p->conf->nteams; i++)
			p->sums[t].quotas += p->conf->team[i].quota[t];
	}
	for (uint32_t i = 0; i < p->nnodes; i++) {
		const struct egs_node *n = &p->node[i];

		for (int t = 0; t < egs_policy_ntypes(p); t++) {
			uint32_t gpus = egs_loans_node_gpus(n, (uint8_t)t);

			p->sums[t].total += gpus;
			p->sums[t].up += n->up ? gpus : 0;
		}
	}
}

/* All teams lose quota in proportion to the capacity that is down.  Before any
 * node is known, quotas are as configured.
 */
static uint32_t scale_quota(const struct egs_type_sums *s, uint32_t quota)
{
	uint64_t whole = s->total > s->quotas ? s->total : s->quotas;

	if (!s->total)
		return quota;
	return (uint32_t)(quota * s->up / whole);
}

void egs_loans_set_quotas(struct egs_policy *p)
{
	count_capacity(p);
	for (int i = 0; i < p->conf->nteams; i++) {
		const struct egs_team *team = &p->conf->team[i];

		for (int t = 0; t < egs_policy_ntypes(p); t++) {
			struct egs_loan_book *l = egs_loans_book(p, i, t);

			l->quota = scale_quota(&p->sums[t], team->quota[t]);
			l->max_gpus = team->max_gpus[t];
			l->dirty = true;
		}
	}
}

void egs_loans_mark_dirty(struct egs_policy *p)
{
	for (int i = 0; i < p->conf->nteams * egs_policy_ntypes(p); i++)
		p->loan_book[i].dirty = true;
}

static void check_team_limit(struct egs_policy *p, int team)
{
	const struct egs_rate *limit = &p->conf->team[team].max_gpu_hours;
	struct egs_meter *m = &p->team_meter[team];
	bool over;

	if (limit->count == EGS_UNLIMITED)
		return;
	egs_meter_advance(m, p->now, limit->per_s);
	over = egs_meter_is_over(m, limit);
	for (int t = 0; t < egs_policy_ntypes(p); t++) {
		struct egs_loan_book *l = egs_loans_book(p, team, t);

		l->dirty |= l->over_hours != over;
		l->over_hours = over;
	}
}

static void set_workload_over(struct egs_policy *p, int workload, bool over)
{
	int team = p->conf->workload[workload].team;

	p->workload_over_limit[workload] = over;
	for (int t = 0; team >= 0 && t < egs_policy_ntypes(p); t++) {
		struct egs_loan_book *l = egs_loans_book(p, team, t);

		l->dirty = true;
		for (uint32_t i = 0; i < l->n; i++)
			if (l->entry[i].workload == workload)
				l->entry[i].workload_over_limit = over;
	}
}

static void check_workload_limit(struct egs_policy *p, int workload)
{
	const struct egs_rate *limit =
		&p->conf->workload[workload].max_gpu_hours;
	struct egs_meter *m = &p->workload_meter[workload];
	bool over;

	if (limit->count == EGS_UNLIMITED)
		return;
	egs_meter_advance(m, p->now, limit->per_s);
	over = egs_meter_is_over(m, limit);
	if (over != p->workload_over_limit[workload])
		set_workload_over(p, workload, over);
}

/* Copy the results of the walk into the jobs. */
static void update_jobs(struct egs_policy *p, const struct egs_loan_book *l)
{
	for (uint32_t i = 0; i < l->n; i++) {
		const struct egs_loan_entry *e = &l->entry[i];
		struct egs_job *j;

		if (!e->changed)
			continue;
		j = &p->jobs.job[e->slot];
		if (j->on_loan == e->owned)
			j->loan_since = p->now;
		j->on_loan = !e->owned;
		j->in_floor = e->in_floor;
		j->over_limit = e->over_limit;
		j->slack_gpus = e->slack;
		j->span_gpus = e->span;
		p->rows_changed = true;
	}
}

uint32_t egs_loans_withheld(const struct egs_policy *p, int team, int type)
{
	const struct egs_loan_book *l = egs_loans_book(p, team, type);
	uint64_t lent = (uint64_t)l->quota * p->conf->team[team].lend_pct / 100;
	uint64_t used = (uint64_t)l->owned + l->unmanaged + lent;

	return used < l->quota ? (uint32_t)(l->quota - used) : 0;
}

static void sum_teams(struct egs_policy *p, int type)
{
	struct egs_type_sums *s = &p->sums[type];

	s->owned = s->withheld = 0;
	memset(s->loan_by_tier, 0, sizeof(s->loan_by_tier));
	for (int i = 0; i < p->conf->nteams; i++) {
		const struct egs_loan_book *l = egs_loans_book(p, i, type);

		s->owned += l->owned + l->unmanaged;
		s->withheld += egs_loans_withheld(p, i, type);
		for (int t = 0; t < p->conf->ntiers; t++)
			s->loan_by_tier[t] += l->loan_by_tier[t];
	}
}

static bool update_book(struct egs_policy *p, int team, int type)
{
	struct egs_loan_book *l = egs_loans_book(p, team, type);

	if (!l->dirty && p->now < l->next_recompute)
		return false;
	egs_loan_book_recompute(l, p->conf, type, p->now);
	l->dirty = false;
	update_jobs(p, l);
	p->rows_changed = true;
	return true;
}

void egs_loans_update(struct egs_policy *p)
{
	for (int i = 0; i < p->conf->nteams; i++)
		check_team_limit(p, i);
	for (int i = 0; i < p->conf->nworkloads; i++)
		check_workload_limit(p, i);
	for (int t = 0; t < egs_policy_ntypes(p); t++) {
		bool any = false;

		for (int i = 0; i < p->conf->nteams; i++)
			any |= update_book(p, i, t);
		if (any)
			sum_teams(p, t);
	}
}
