/* query.c - rows and reasons: what the policy says of one job */
#include "policyd/policy/policy_internal.h"

const struct egs_job *egs_policy_job(const struct egs_policy *p,
				     uint32_t job_id)
{
	uint32_t slot = egs_jobs_find(&p->jobs, job_id);

	return slot == EGS_NO_SLOT ? NULL : &p->jobs.job[slot];
}

uint32_t egs_policy_njobs(const struct egs_policy *p)
{
	return p->jobs.njobs;
}

uint32_t egs_policy_slots(const struct egs_policy *p)
{
	return p->jobs.nslots;
}

const struct egs_job *egs_policy_slot(const struct egs_policy *p, uint32_t slot)
{
	if (slot >= p->jobs.nslots || !p->jobs.job[slot].used)
		return NULL;
	return &p->jobs.job[slot];
}

uint32_t egs_policy_grace(const struct egs_policy *p, uint32_t job_id)
{
	const struct egs_job *j = egs_policy_job(p, job_id);

	return j ? egs_job_grace(p, j) : 0;
}

uint32_t egs_policy_slack(const struct egs_policy *p, uint32_t job_id)
{
	const struct egs_job *j = egs_policy_job(p, job_id);

	return j ? egs_job_slack(p, j) : 0;
}

enum egs_fate egs_policy_fate(const struct egs_policy *p, uint32_t job_id)
{
	const struct egs_job *j = egs_policy_job(p, job_id);

	return j ? egs_job_fate(p, j) : EGS_FATE_SPARE;
}

bool egs_policy_returns(const struct egs_policy *p, uint32_t job_id)
{
	const struct egs_job *j = egs_policy_job(p, job_id);

	return j && egs_job_returns(j);
}

uint32_t egs_policy_cost(const struct egs_policy *p, uint32_t job_id)
{
	const struct egs_job *j = egs_policy_job(p, job_id);
	uint64_t cost =
		j && j->running && j->facts.tier >= 0 ? egs_rank_cost(p, j) : 0;

	return cost > UINT32_MAX ? UINT32_MAX : (uint32_t)cost;
}

struct egs_holding egs_policy_holding(const struct egs_policy *p, int team,
				      int type)
{
	const struct egs_ledger *l = egs_loan_ledger(p, team, type);
	uint32_t used = l->owned + l->unmanaged;

	return (struct egs_holding){
		.quota = p->conf->team[team].quota[type],
		.in_force = l->quota,
		.owned = l->owned,
		.on_loan = l->on_loan,
		.unmanaged = l->unmanaged,
		.idle = used < l->quota ? l->quota - used : 0,
	};
}

static bool spent(const struct egs_tier *t, const struct egs_job *j,
		  egs_time_t now)
{
	return t->max_preemptions.count != EGS_UNLIMITED && j->preemptions &&
	       j->preemptions >= t->max_preemptions.count &&
	       now - j->budget_from < t->max_preemptions.per_s;
}

static bool overdue(const struct egs_policy *p, const struct egs_job *j,
		    egs_time_t now)
{
	return j->on_loan && p->conf->loan_time_s != EGS_UNLIMITED &&
	       now - j->loan_since >= p->conf->loan_time_s;
}

static void running_row(const struct egs_policy *p, const struct egs_job *j,
			egs_time_t now, struct egs_row *row)
{
	const struct egs_tier *t = &p->conf->tier[j->facts.tier];
	uint32_t delay = p->conf->recall_delay_s < t->min_runtime_s
				 ? p->conf->recall_delay_s
				 : t->min_runtime_s;

	row->on_loan = j->on_loan;
	row->protected_until = j->started + t->min_runtime_s;
	row->recall_from = j->started + delay;
	row->over = j->over || overdue(p, j, now);
	row->keeps =
		!t->yields || j->floor || egs_job_fate(p, j) == EGS_FATE_SPARE;
	if (j->asked && !j->sparing) {
		row->on_loan |= j->asked_loan;
		row->protected_until = row->recall_from = j->started;
		row->keeps = false;
	}
	if (now < j->kept_until)
		row->protected_until = row->recall_from = j->kept_until;
}

void egs_view_row(const struct egs_policy *p, const struct egs_job *j,
		  egs_time_t now, struct egs_row *row)
{
	struct egs_reckoned r;

	*row = (struct egs_row){ .managed = j->facts.tier >= 0 };
	if (!row->managed)
		return;
	row->tier = (uint8_t)j->facts.tier;
	row->needs_gpus = egs_job_needs_gpus(p, j);
	row->dependents = egs_rank_dependents(p, j) == EGS_DEPENDENTS_PREEMPT;
	row->spent = spent(&p->conf->tier[row->tier], j, now);
	if (j->running) {
		running_row(p, j, now, row);
		return;
	}
	row->patient = j->shrinker != 0;
	r = egs_loan_reckon(p, j);
	row->on_loan = r.on_loan;
	row->barred = r.held != EGS_RULE_FITS;
}

int egs_policy_row(const struct egs_policy *p, uint32_t job_id, egs_time_t now,
		   struct egs_row *row)
{
	const struct egs_job *j = egs_policy_job(p, job_id);

	if (!j)
		return -1;
	egs_view_row(p, j, now, row);
	return 0;
}

/* A job that runs: owned, on loan, or on its way out. */
static void why_running(const struct egs_job *j, struct egs_why *why)
{
	why->on_loan = j->on_loan;
	why->rule = !j->on_loan ? EGS_RULE_OWNED
		    : j->over	? EGS_RULE_OVER
				: EGS_RULE_LOAN;
	if (!j->asked)
		return;
	why->rule = j->asked_by ? EGS_RULE_ASKED : EGS_RULE_TOLD;
	why->holder = j->asked_by;
	why->until = j->deadline;
}

/* The protection that ends first among the jobs P could take from. */
static void find_protected(const struct egs_policy *p,
			   const struct egs_row *row, egs_time_t now,
			   struct egs_why *why)
{
	for (uint32_t i = 0; i < p->jobs.nslots; i++) {
		const struct egs_job *v = &p->jobs.job[i];
		struct egs_row other;
		egs_time_t until;

		if (!v->used || !v->running || !v->gpus || v->type != why->type)
			continue;
		egs_view_row(p, v, now, &other);
		if (egs_may_take(row, &other, now) != EGS_TAKE_PROTECTED)
			continue;
		until = egs_is_recall(row, &other) ? other.recall_from
						   : other.protected_until;
		if (why->holder && until >= why->until)
			continue;
		why->rule = EGS_RULE_PROTECTED;
		why->holder = v->ident.job_id;
		why->until = until;
	}
}

/* Nobody may be taken from: who has the most of them, if they are taken. */
static void find_holder(const struct egs_policy *p, const struct egs_job *j,
			struct egs_why *why)
{
	const struct egs_need *need = &j->facts.need;

	egs_take_count(p, need, &why->free, &why->up);
	for (uint32_t i = 0; i < p->jobs.nslots; i++) {
		const struct egs_job *v = &p->jobs.job[i];

		if (!v->used || !v->running || v->gpus < why->held ||
		    !v->gpus ||
		    (need->type != EGS_TYPE_ANY && v->type != need->type) ||
		    (v->gpus == why->held && v->ident.job_id > why->holder))
			continue;
		why->holder = v->ident.job_id;
		why->held = v->gpus;
	}
	why->rule = why->free >= why->gpus ? EGS_RULE_SCATTERED
		    : why->holder	   ? EGS_RULE_EQUALS
					   : EGS_RULE_FEW;
}

/* Another job was asked to shrink for it. */
static bool why_shrinks(const struct egs_policy *p, const struct egs_job *j,
			struct egs_why *why)
{
	const struct egs_job *v =
		j->shrinker ? egs_policy_job(p, j->shrinker) : NULL;

	if (!v)
		return false;
	why->rule = EGS_RULE_SHRINKS;
	why->holder = j->shrinker;
	why->limit = v->shrink_keep;
	why->until = v->shrink_until;
	return true;
}

static void why_pending(struct egs_policy *p, const struct egs_job *j,
			egs_time_t now, struct egs_why *why)
{
	struct egs_reckoned r = egs_loan_reckon(p, j);
	struct egs_row row;
	int n;

	why->on_loan = r.on_loan;
	why->type = r.type;
	why->rule = r.held;
	why->limit = r.limit;
	if (r.held == EGS_RULE_GPU_HOURS)
		why->until = egs_period_end(now, r.per_s);
	if (r.held != EGS_RULE_FITS || why_shrinks(p, j, why))
		return;
	n = egs_policy_victims(p, j->ident.job_id, now, &why->holder, 1);
	why->rule = n > 0 ? EGS_RULE_TAKES : EGS_RULE_FITS;
	why->victims = n > 0 ? (uint32_t)n : 0;
	if (n != -1)
		return;
	egs_view_row(p, j, now, &row);
	find_protected(p, &row, now, why);
	if (!why->holder)
		find_holder(p, j, why);
}

static void team_numbers(const struct egs_policy *p, struct egs_why *why)
{
	const struct egs_ledger *l;

	if (why->team < 0 || why->type < 0 || why->type >= egs_policy_types(p))
		return;
	l = egs_loan_ledger(p, why->team, why->type);
	why->quota = l->quota;
	why->owned = l->owned;
	why->team_loan = l->on_loan;
}

int egs_policy_why(struct egs_policy *p, uint32_t job_id, egs_time_t now,
		   struct egs_why *why)
{
	const struct egs_job *j = egs_policy_job(p, job_id);

	if (!j)
		return -1;
	*why = (struct egs_why){
		.job_id = job_id,
		.team = j->facts.team,
		.tier = j->facts.tier,
		.type = j->running ? j->type : j->facts.need.type,
		.gpus = j->running ? j->gpus : egs_job_wants(j)
	};
	if (j->facts.tier < 0)
		why->rule = EGS_RULE_UNMANAGED;
	else if (j->running)
		why_running(j, why);
	else if (j->facts.blocked)
		why->rule = EGS_RULE_BLOCKED;
	else if (!egs_job_needs_gpus(p, j))
		why->rule = EGS_RULE_NO_GPUS;
	else
		why_pending(p, j, now, why);
	team_numbers(p, why);
	return 0;
}
