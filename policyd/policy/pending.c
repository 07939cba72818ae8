/* pending.c - evaluate a pending job as if it had started */
#include <stddef.h>

#include "policyd/policy/policy_internal.h"

/* GPUs of this type that can be on loan in the whole cluster, when other teams
 * withhold this many.
 */
static uint64_t loan_pool_size(const struct egs_policy *p, int type,
			       uint64_t withheld)
{
	const struct egs_type_sums *s = &p->sums[type];
	uint64_t unavailable = s->owned + withheld;

	return s->up > unavailable ? s->up - unavailable : 0;
}

/* May the team borrow 'gpus' more?  Loans of weaker tiers do not count: the job
 * may preempt them.
 */
static enum egs_why_rule check_borrowing(const struct egs_policy *p,
					 const struct egs_job *j, int type,
					 uint32_t gpus, uint32_t *limit)
{
	const struct egs_team *team = &p->conf->team[j->facts.team];
	const struct egs_loan_book *l = egs_loans_book(p, j->facts.team, type);
	uint64_t withheld = p->sums[type].withheld -
			    egs_loans_withheld(p, j->facts.team, type);
	uint64_t pool = loan_pool_size(p, type, withheld), loans = 0;

	if (!p->sums[type].total)
		return EGS_RULE_FITS;
	*limit = (uint32_t)(pool * team->borrow_pct / 100);
	if (team->borrow_pct < 100 && (uint64_t)l->on_loan + gpus > *limit)
		return EGS_RULE_BORROW_LIMIT;
	for (int t = 0; t <= j->facts.tier; t++)
		loans += p->sums[type].loan_by_tier[t];
	*limit = (uint32_t)(pool > loans ? pool - loans : 0);
	return withheld && gpus > *limit ? EGS_RULE_LEND_LIMIT : EGS_RULE_FITS;
}

static const struct egs_rate *
find_hours_limit(const struct egs_policy *p, const struct egs_job *j, int type)
{
	int w = j->facts.workload;

	if (egs_loans_book(p, j->facts.team, type)->over_hours)
		return &p->conf->team[j->facts.team].max_gpu_hours;
	if (w >= 0 && p->workload_over_limit[w])
		return &p->conf->workload[w].max_gpu_hours;
	return NULL;
}

/* GPUs of the team that count against the limit before a job of this tier.
 * With LimitAction=loan, jobs of weaker tiers would exceed the limit instead.
 */
static uint64_t count_held_before(const struct egs_policy *p, int team,
				  int tier, const struct egs_loan_book *l)
{
	uint64_t held = 0;

	if (p->conf->team[team].limit_action == EGS_LIMIT_HOLD)
		return (uint64_t)l->owned + l->on_loan;
	for (int t = 0; t <= tier; t++)
		held += (uint64_t)l->owned_by_tier[t] + l->loan_by_tier[t];
	return held;
}

/* The limit the job would break, or EGS_RULE_FITS. */
static enum egs_why_rule find_broken_limit(const struct egs_policy *p,
					   const struct egs_job *j,
					   struct egs_pending_result *r)
{
	const struct egs_loan_book *l =
		egs_loans_book(p, j->facts.team, r->type);
	const struct egs_rate *hours = find_hours_limit(p, j, r->type);
	uint64_t with = count_held_before(p, j->facts.team, j->facts.tier, l) +
			egs_job_gpus_wanted(j);

	if (hours) {
		r->limit = hours->count;
		r->per_s = hours->per_s;
		return EGS_RULE_GPU_HOURS;
	}
	r->limit = l->max_gpus;
	return with > l->max_gpus ? EGS_RULE_MAX_GPUS : EGS_RULE_FITS;
}

uint32_t egs_policy_quota_left(const struct egs_policy *p, int team, int type,
			       int tier)
{
	const struct egs_loan_book *l = egs_loans_book(p, team, type);
	uint64_t held = count_held_before(p, team, tier, l);
	uint32_t left = egs_loan_book_quota_left(l, tier);

	if (p->conf->tier[tier].loan == EGS_LOAN_ALWAYS || l->over_hours ||
	    held >= l->max_gpus)
		return 0;
	return left < l->max_gpus - held ? left
					 : (uint32_t)(l->max_gpus - held);
}

/* Does the job fill the floor of its workload, and so come before others? */
static bool lacks_floor(const struct egs_policy *p, const struct egs_job *j,
			const struct egs_loan_book *l, int type)
{
	int w = j->facts.workload;
	uint32_t floor = w < 0 ? 0 : p->conf->workload[w].floor[type];

	return floor && egs_loan_book_floor_gpus(l, w) < floor;
}

static struct egs_pending_result
evaluate_type(const struct egs_policy *p, const struct egs_job *j, int type)
{
	const struct egs_tier *tier = &p->conf->tier[j->facts.tier];
	const struct egs_team *team = &p->conf->team[j->facts.team];
	struct egs_pending_result r = { .type = type,
					.held_by = EGS_RULE_FITS };
	uint32_t gpus = egs_job_gpus_wanted(j);
	enum egs_why_rule over = find_broken_limit(p, j, &r);
	const struct egs_loan_book *l = egs_loans_book(p, j->facts.team, type);
	uint32_t left = egs_loan_book_quota_left(
		l, lacks_floor(p, j, l, type) ? -1 : j->facts.tier);

	r.on_loan = over != EGS_RULE_FITS || tier->loan == EGS_LOAN_ALWAYS ||
		    (gpus > left && !(egs_policy_claim_has_quota(p, j) &&
				      j->claim_type == type));
	if (over != EGS_RULE_FITS && team->limit_action == EGS_LIMIT_HOLD)
		r.held_by = over;
	else if (r.on_loan && tier->loan == EGS_LOAN_NEVER)
		r.held_by = EGS_RULE_QUOTA;
	else if (r.on_loan)
		r.held_by = check_borrowing(p, j, type, gpus, &r.limit);
	return r;
}

static bool is_better(const struct egs_pending_result *a,
		      const struct egs_pending_result *b)
{
	if ((a->held_by == EGS_RULE_FITS) != (b->held_by == EGS_RULE_FITS))
		return a->held_by == EGS_RULE_FITS;
	return !a->on_loan && b->on_loan;
}

/* A job that accepts any GPU type is evaluated with the best one for it. */
struct egs_pending_result egs_pending_evaluate(const struct egs_policy *p,
					       const struct egs_job *j)
{
	struct egs_pending_result best = { .held_by = EGS_RULE_FITS };

	best.type = j->facts.need.type;
	if (j->facts.tier < 0 || !egs_job_gpus_wanted(j))
		return best;
	if (j->facts.team < 0) {
		best.on_loan =
			p->conf->tier[j->facts.tier].loan == EGS_LOAN_ALWAYS;
		return best;
	}
	if (best.type != EGS_TYPE_ANY)
		return evaluate_type(p, j, best.type);
	for (int t = 0; t < egs_policy_ntypes(p); t++) {
		struct egs_pending_result r = evaluate_type(p, j, t);

		if (p->sums[t].total &&
		    (best.type == EGS_TYPE_ANY || is_better(&r, &best)))
			best = r;
	}
	return best.type == EGS_TYPE_ANY ? evaluate_type(p, j, 0) : best;
}

bool egs_pending_is_over_limit(const struct egs_policy *p,
			       const struct egs_job *j)
{
	struct egs_pending_result r = { .type = j->facts.need.type };

	if (j->facts.team < 0 || j->facts.tier < 0 || !egs_job_gpus_wanted(j))
		return false;
	if (r.type == EGS_TYPE_ANY)
		r.type = 0;
	return find_broken_limit(p, j, &r) != EGS_RULE_FITS;
}
