/* loans.c - quotas in force, loans and limits of all teams */
#include <stdlib.h>
#include <string.h>

#include "policyd/policy/policy_internal.h"

struct egs_ledger *egs_loan_ledger(const struct egs_policy *p, int team,
				   int type)
{
	return &p->ledger[team * egs_policy_types(p) + type];
}

int egs_loan_new(struct egs_policy *p)
{
	size_t n = (size_t)p->conf->nteams * (size_t)egs_policy_types(p);
	struct egs_ledger *l = calloc(n ? n : 1, sizeof(*l));

	if (!l)
		return -1;
	p->ledger = l;
	for (size_t i = 0; i < n; i++)
		l[i].again = INT64_MAX;
	egs_loan_quotas(p);
	return 0;
}

void egs_loan_free(struct egs_ledger *ledger, int nteams, int ntypes)
{
	for (int i = 0; ledger && i < nteams * ntypes; i++)
		egs_ledger_clear(&ledger[i]);
	free(ledger);
}

static struct egs_entry entry_of(const struct egs_policy *p, uint32_t slot)
{
	const struct egs_job *j = &p->jobs.job[slot];
	int w = j->facts.workload;

	return (struct egs_entry){ .start = j->started,
				   .job_id = j->ident.job_id,
				   .slot = slot,
				   .gpus = j->gpus,
				   .workload = j->facts.workload,
				   .tier = (uint8_t)j->facts.tier,
				   .barred = w >= 0 && p->workload_over[w] };
}

int egs_loan_reserve(struct egs_policy *p, int team, int type)
{
	return team < 0 ? 0
			: egs_ledger_reserve(egs_loan_ledger(p, team, type), 1);
}

/* A running job takes its place in the books, where there is room; without a
 * team, or without GPUs, there is nothing to lend, and it is its own.
 */
void egs_loan_enter(struct egs_policy *p, uint32_t slot, bool owned)
{
	struct egs_job *j = &p->jobs.job[slot];
	struct egs_entry e = entry_of(p, slot);
	bool was = j->on_loan;
	struct egs_ledger *l;

	j->on_loan = j->facts.tier >= 0 && j->facts.team < 0 &&
		     p->conf->tier[j->facts.tier].loan == EGS_LOAN_ALWAYS;
	if (j->facts.team < 0 || !j->gpus)
		return;
	l = egs_loan_ledger(p, j->facts.team, j->type);
	l->dirty = true;
	if (j->facts.tier < 0) {
		l->unmanaged += j->gpus;
		return;
	}
	e.owned = owned;
	j->on_loan = !owned;
	j->floor = j->over = false;
	if (!owned && !was)
		j->loan_since = p->now;
	egs_ledger_add(l, &e);
}

void egs_loan_leave(struct egs_policy *p, uint32_t slot)
{
	const struct egs_job *j = &p->jobs.job[slot];
	struct egs_ledger *l;

	if (j->facts.team < 0 || !j->gpus)
		return;
	l = egs_loan_ledger(p, j->facts.team, j->type);
	l->dirty = true;
	if (j->facts.tier < 0)
		l->unmanaged -= j->gpus;
	else
		egs_ledger_remove(l, (uint8_t)j->facts.tier, j->started,
				  j->ident.job_id);
}

/* Capacity, and the quotas in force: what is lost is lost by all in
 * proportion.  Before any node is known, the quotas are as configured.
 */
static void count_capacity(struct egs_policy *p)
{
	for (int t = 0; t < egs_policy_types(p); t++) {
		p->sums[t].total = p->sums[t].up = p->sums[t].quotas = 0;
		for (int i = 0; i < p->conf->nteams; i++)
			p->sums[t].quotas += p->conf->team[i].quota[t];
	}
	for (uint32_t i = 0; i < p->nnodes; i++) {
		const struct egs_node *n = &p->node[i];

		p->sums[n->type].total += n->gpus;
		p->sums[n->type].up += n->up ? n->gpus : 0;
	}
}

static uint32_t in_force(const struct egs_sums *s, uint32_t quota)
{
	uint64_t whole = s->total > s->quotas ? s->total : s->quotas;

	if (!s->total)
		return quota;
	return (uint32_t)(quota * s->up / whole);
}

void egs_loan_quotas(struct egs_policy *p)
{
	count_capacity(p);
	for (int i = 0; i < p->conf->nteams; i++) {
		const struct egs_team *team = &p->conf->team[i];

		for (int t = 0; t < egs_policy_types(p); t++) {
			struct egs_ledger *l = egs_loan_ledger(p, i, t);

			l->quota = in_force(&p->sums[t], team->quota[t]);
			l->max_gpus = team->max_gpus[t];
			l->dirty = true;
		}
	}
}

void egs_loan_dirty(struct egs_policy *p)
{
	for (int i = 0; i < p->conf->nteams * egs_policy_types(p); i++)
		p->ledger[i].dirty = true;
}

static void team_limit(struct egs_policy *p, int team)
{
	const struct egs_rate *limit = &p->conf->team[team].max_gpu_hours;
	struct egs_meter *m = &p->team_meter[team];
	bool over;

	if (limit->count == EGS_UNLIMITED)
		return;
	egs_meter_advance(m, p->now, limit->per_s);
	over = egs_meter_over(m, limit);
	for (int t = 0; t < egs_policy_types(p); t++) {
		struct egs_ledger *l = egs_loan_ledger(p, team, t);

		l->dirty |= l->over_hours != over;
		l->over_hours = over;
	}
}

static void bar(struct egs_policy *p, int workload, bool over)
{
	int team = p->conf->workload[workload].team;

	p->workload_over[workload] = over;
	for (int t = 0; team >= 0 && t < egs_policy_types(p); t++) {
		struct egs_ledger *l = egs_loan_ledger(p, team, t);

		l->dirty = true;
		for (uint32_t i = 0; i < l->n; i++)
			if (l->entry[i].workload == workload)
				l->entry[i].barred = over;
	}
}

static void workload_limit(struct egs_policy *p, int workload)
{
	const struct egs_rate *limit =
		&p->conf->workload[workload].max_gpu_hours;
	struct egs_meter *m = &p->workload_meter[workload];
	bool over;

	if (limit->count == EGS_UNLIMITED)
		return;
	egs_meter_advance(m, p->now, limit->per_s);
	over = egs_meter_over(m, limit);
	if (over != p->workload_over[workload])
		bar(p, workload, over);
}

/* Tell the jobs what the walk found. */
static void publish(struct egs_policy *p, const struct egs_ledger *l)
{
	for (uint32_t i = 0; i < l->n; i++) {
		const struct egs_entry *e = &l->entry[i];
		struct egs_job *j;

		if (!e->changed)
			continue;
		j = &p->jobs.job[e->slot];
		if (j->on_loan == e->owned)
			j->loan_since = p->now;
		j->on_loan = !e->owned;
		j->floor = e->floor;
		j->over = e->over;
		egs_policy_act(p, EGS_ACT_ROW, j);
	}
}

/* Idle quota the team does not lend. */
uint32_t egs_loan_withheld(const struct egs_policy *p, int team, int type)
{
	const struct egs_ledger *l = egs_loan_ledger(p, team, type);
	uint64_t lent = (uint64_t)l->quota * p->conf->team[team].lend_pct / 100;
	uint64_t used = (uint64_t)l->owned + l->unmanaged + lent;

	return used < l->quota ? (uint32_t)(l->quota - used) : 0;
}

static void sum_up(struct egs_policy *p, int type)
{
	struct egs_sums *s = &p->sums[type];

	s->owned = s->withheld = 0;
	memset(s->loan_at, 0, sizeof(s->loan_at));
	for (int i = 0; i < p->conf->nteams; i++) {
		const struct egs_ledger *l = egs_loan_ledger(p, i, type);

		s->owned += l->owned + l->unmanaged;
		s->withheld += egs_loan_withheld(p, i, type);
		for (int t = 0; t < p->conf->ntiers; t++)
			s->loan_at[t] += l->loan_at[t];
	}
}

static bool settle_one(struct egs_policy *p, int team, int type)
{
	struct egs_ledger *l = egs_loan_ledger(p, team, type);

	if (!l->dirty && p->now < l->again)
		return false;
	egs_ledger_walk(l, p->conf, type, p->now);
	l->dirty = false;
	publish(p, l);
	egs_policy_act_team(p, team, type);
	return true;
}

void egs_loan_settle(struct egs_policy *p)
{
	for (int i = 0; i < p->conf->nteams; i++)
		team_limit(p, i);
	for (int i = 0; i < p->conf->nworkloads; i++)
		workload_limit(p, i);
	for (int t = 0; t < egs_policy_types(p); t++) {
		bool any = false;

		for (int i = 0; i < p->conf->nteams; i++)
			any |= settle_one(p, i, t);
		if (any)
			sum_up(p, t);
	}
}
