/* pending.c - a pending job, reckoned as if it had started */
#include <stddef.h>

#include "policyd/policy/policy_internal.h"

/* What the whole cluster can have on loan of this type, apart from what other
 * teams keep for themselves.
 */
static uint64_t pool(const struct egs_policy *p, int type, uint64_t kept)
{
	const struct egs_sums *s = &p->sums[type];
	uint64_t gone = s->owned + kept;

	return s->up > gone ? s->up - gone : 0;
}

/* May the team borrow that much?  Loans of weaker tiers are no obstacle: the
 * job may take from them.
 */
static enum egs_rule borrow(const struct egs_policy *p, const struct egs_job *j,
			    int type, uint32_t gpus, uint32_t *limit)
{
	const struct egs_team *team = &p->conf->team[j->facts.team];
	const struct egs_ledger *l = egs_loan_ledger(p, j->facts.team, type);
	uint64_t kept = p->sums[type].withheld -
			egs_loan_withheld(p, j->facts.team, type);
	uint64_t most = pool(p, type, kept), loans = 0;

	if (!p->sums[type].total)
		return EGS_RULE_FITS;
	*limit = (uint32_t)(most * team->borrow_pct / 100);
	if (team->borrow_pct < 100 && (uint64_t)l->on_loan + gpus > *limit)
		return EGS_RULE_BORROW;
	for (int t = 0; t <= j->facts.tier; t++)
		loans += p->sums[type].loan_at[t];
	*limit = (uint32_t)(most > loans ? most - loans : 0);
	return kept && gpus > *limit ? EGS_RULE_LEND : EGS_RULE_FITS;
}

static const struct egs_rate *hours_reached(const struct egs_policy *p,
					    const struct egs_job *j, int type)
{
	int w = j->facts.workload;

	if (egs_loan_ledger(p, j->facts.team, type)->over_hours)
		return &p->conf->team[j->facts.team].max_gpu_hours;
	if (w >= 0 && p->workload_over[w])
		return &p->conf->workload[w].max_gpu_hours;
	return NULL;
}

/* GPUs of the team that count before a job of this tier: with LimitAction=loan
 * the weaker ones would be over the limit in its place.
 */
static uint64_t held_before(const struct egs_policy *p, int team, int tier,
			    const struct egs_ledger *l)
{
	uint64_t held = 0;

	if (p->conf->team[team].limit_action == EGS_LIMIT_HOLD)
		return (uint64_t)l->owned + l->on_loan;
	for (int t = 0; t <= tier; t++)
		held += (uint64_t)l->owned_at[t] + l->loan_at[t];
	return held;
}

/* The limit the job would break, or EGS_RULE_FITS. */
static enum egs_rule over_limit(const struct egs_policy *p,
				const struct egs_job *j, struct egs_reckoned *r)
{
	const struct egs_ledger *l = egs_loan_ledger(p, j->facts.team, r->type);
	const struct egs_rate *hours = hours_reached(p, j, r->type);
	uint64_t with = held_before(p, j->facts.team, j->facts.tier, l) +
			egs_job_wants(j);

	if (hours) {
		r->limit = hours->count;
		r->per_s = hours->per_s;
		return EGS_RULE_GPU_HOURS;
	}
	r->limit = l->max_gpus;
	return with > l->max_gpus ? EGS_RULE_MAX_GPUS : EGS_RULE_FITS;
}

uint32_t egs_policy_left(const struct egs_policy *p, int team, int type,
			 int tier)
{
	const struct egs_ledger *l = egs_loan_ledger(p, team, type);
	uint64_t held = held_before(p, team, tier, l);
	uint32_t left = egs_ledger_left(l, tier);

	if (p->conf->tier[tier].loan == EGS_LOAN_ALWAYS || l->over_hours ||
	    held >= l->max_gpus)
		return 0;
	return left < l->max_gpus - held ? left
					 : (uint32_t)(l->max_gpus - held);
}

/* It would hold up the floor of its workload, and so come first. */
static bool lacks_floor(const struct egs_policy *p, const struct egs_job *j,
			const struct egs_ledger *l, int type)
{
	int w = j->facts.workload;
	uint32_t floor = w < 0 ? 0 : p->conf->workload[w].floor[type];

	return floor && egs_ledger_floor(l, w) < floor;
}

static struct egs_reckoned reckon_type(const struct egs_policy *p,
				       const struct egs_job *j, int type)
{
	const struct egs_tier *tier = &p->conf->tier[j->facts.tier];
	const struct egs_team *team = &p->conf->team[j->facts.team];
	struct egs_reckoned r = { .type = type, .held = EGS_RULE_FITS };
	uint32_t gpus = egs_job_wants(j);
	enum egs_rule over = over_limit(p, j, &r);
	const struct egs_ledger *l = egs_loan_ledger(p, j->facts.team, type);
	uint32_t left = egs_ledger_left(
		l, lacks_floor(p, j, l, type) ? -1 : j->facts.tier);

	r.on_loan = over != EGS_RULE_FITS || tier->loan == EGS_LOAN_ALWAYS ||
		    (gpus > left &&
		     !(egs_claim_keeps(p, j) && j->claim_type == type));
	if (over != EGS_RULE_FITS && team->limit_action == EGS_LIMIT_HOLD)
		r.held = over;
	else if (r.on_loan && tier->loan == EGS_LOAN_NEVER)
		r.held = EGS_RULE_QUOTA;
	else if (r.on_loan)
		r.held = borrow(p, j, type, gpus, &r.limit);
	return r;
}

static bool better(const struct egs_reckoned *a, const struct egs_reckoned *b)
{
	if ((a->held == EGS_RULE_FITS) != (b->held == EGS_RULE_FITS))
		return a->held == EGS_RULE_FITS;
	return !a->on_loan && b->on_loan;
}

/* A job that takes any type gets the one where it stands best. */
struct egs_reckoned egs_loan_reckon(const struct egs_policy *p,
				    const struct egs_job *j)
{
	struct egs_reckoned best = { .held = EGS_RULE_FITS };

	best.type = j->facts.need.type;
	if (j->facts.tier < 0 || !egs_job_wants(j))
		return best;
	if (j->facts.team < 0) {
		best.on_loan =
			p->conf->tier[j->facts.tier].loan == EGS_LOAN_ALWAYS;
		return best;
	}
	if (best.type != EGS_TYPE_ANY)
		return reckon_type(p, j, best.type);
	for (int t = 0; t < egs_policy_types(p); t++) {
		struct egs_reckoned r = reckon_type(p, j, t);

		if (p->sums[t].total &&
		    (best.type == EGS_TYPE_ANY || better(&r, &best)))
			best = r;
	}
	return best.type == EGS_TYPE_ANY ? reckon_type(p, j, 0) : best;
}

/* Would it be over a limit of its team or workload? */
bool egs_loan_over(const struct egs_policy *p, const struct egs_job *j)
{
	struct egs_reckoned r = { .type = j->facts.need.type };

	if (j->facts.team < 0 || j->facts.tier < 0 || !egs_job_wants(j))
		return false;
	if (r.type == EGS_TYPE_ANY)
		r.type = 0;
	return over_limit(p, j, &r) != EGS_RULE_FITS;
}
