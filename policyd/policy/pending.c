/* pending.c - evaluate a pending job as if it had started */
#include <stddef.h>

#include "common/base/grow.h"
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
 * may preempt them.  '*room' is how many more the team may borrow.
 */
static enum egs_why_rule check_borrowing(const struct egs_policy *p,
					 const struct egs_job *j, int type,
					 struct egs_pending_result *r,
					 uint32_t *room)
{
	const struct egs_team *team = &p->conf->team[j->facts.team];
	const struct egs_loan_book *l = egs_loans_book(p, j->facts.team, type);
	uint64_t withheld = p->sums[type].withheld -
			    egs_loans_withheld(p, j->facts.team, type);
	uint64_t pool = loan_pool_size(p, type, withheld), loans = 0;
	uint32_t gpus = egs_job_gpus_wanted(j), borrow, lend;

	*room = EGS_UNLIMITED;
	if (!p->sums[type].total)
		return EGS_RULE_FITS;
	r->limit = borrow = (uint32_t)(pool * team->borrow_pct / 100);
	if (team->borrow_pct < 100)
		*room = egs_sub(borrow, l->on_loan);
	if (gpus > *room)
		return EGS_RULE_BORROW_LIMIT;
	for (int t = 0; t <= j->facts.tier; t++)
		loans += p->sums[type].loan_by_tier[t];
	r->limit = lend = (uint32_t)(pool > loans ? pool - loans : 0);
	if (withheld && lend < *room)
		*room = lend;
	return gpus > *room ? EGS_RULE_LEND_LIMIT : EGS_RULE_FITS;
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

/* GPUs of the team that count against MaxGpus. */
static uint64_t count_held(const struct egs_loan_book *l)
{
	return (uint64_t)l->owned + l->on_loan + l->unmanaged;
}

/* What MaxGpus leaves for jobs that start now. */
static uint32_t max_gpus_left(const struct egs_loan_book *l)
{
	uint64_t held = count_held(l);

	if (l->max_gpus == EGS_UNLIMITED)
		return EGS_UNLIMITED;
	return held < l->max_gpus ? (uint32_t)(l->max_gpus - held) : 0;
}

/* The limit the job would break, or EGS_RULE_FITS. */
static enum egs_why_rule find_broken_limit(const struct egs_policy *p,
					   const struct egs_job *j,
					   struct egs_pending_result *r)
{
	const struct egs_loan_book *l =
		egs_loans_book(p, j->facts.team, r->type);
	const struct egs_rate *hours = find_hours_limit(p, j, r->type);

	r->limit = l->max_gpus;
	if (egs_job_gpus_wanted(j) > max_gpus_left(l))
		return EGS_RULE_MAX_GPUS;
	if (!hours)
		return EGS_RULE_FITS;
	r->limit = hours->count;
	r->per_s = hours->per_s;
	return EGS_RULE_GPU_HOURS;
}

uint32_t egs_policy_quota_left(const struct egs_policy *p, int team, int type,
			       int tier)
{
	const struct egs_loan_book *l = egs_loans_book(p, team, type);
	uint32_t most = max_gpus_left(l);
	uint32_t left = egs_loan_book_quota_left(l, tier);

	if (p->conf->tier[tier].loan == EGS_LOAN_ALWAYS || l->over_hours)
		return 0;
	return left < most ? left : most;
}

/* Does the job fill the floor of its workload, and so come before others? */
static bool lacks_floor(const struct egs_policy *p, const struct egs_job *j,
			const struct egs_loan_book *l, int type)
{
	int w = j->facts.workload;
	uint32_t floor = w < 0 ? 0 : p->conf->workload[w].floor[type];

	return floor && egs_loan_book_floor_gpus(l, w) < floor;
}

/* Does a limit defer the job?  MaxGpus always does, MaxGpuHours with
 * LimitAction=hold.
 */
static bool is_deferring(const struct egs_team *team, enum egs_why_rule over)
{
	return over == EGS_RULE_MAX_GPUS ||
	       (over != EGS_RULE_FITS && team->limit_action == EGS_LIMIT_HOLD);
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* What MaxGpus leaves beside the job. */
static uint32_t room_of_max_gpus(const struct egs_policy *p,
				 const struct egs_job *j, int type)
{
	uint32_t left = max_gpus_left(egs_loans_book(p, j->facts.team, type));

	return left == EGS_UNLIMITED ? left
				     : egs_sub(left, egs_job_gpus_wanted(j));
}

/* The quota that is left for the job, and with it for others of its team. */
struct quota_left {
	uint32_t for_job, behind_job;
	bool fills_floor;
};

static struct quota_left find_quota_left(const struct egs_policy *p,
					 const struct egs_job *j, int type)
{
	const struct egs_loan_book *l = egs_loans_book(p, j->facts.team, type);
	struct quota_left left = { .fills_floor = lacks_floor(p, j, l, type) };
	uint32_t gpus = egs_job_gpus_wanted(j);

	left.for_job = egs_loan_book_quota_left(
		l, left.fills_floor ? -1 : j->facts.tier);
	left.behind_job = egs_sub(left.for_job, gpus);
	if (egs_policy_claim_has_quota(p, j) && j->claim_type == type) {
		left.behind_job = left.for_job;
		left.for_job = gpus;
	}
	return left;
}

/* 1 + the strongest tier that the job displaces from the quota.  If it has a
 * claim, the quota is reserved and its place is taken already.
 */
static uint8_t find_displaced(const struct egs_policy *p,
			      const struct egs_job *j, bool fills_floor)
{
	if (egs_policy_claim_has_quota(p, j))
		return 0;
	return fills_floor ? 1 : (uint8_t)(j->facts.tier + 2);
}

static struct egs_pending_result
evaluate_type(const struct egs_policy *p, const struct egs_job *j, int type)
{
	enum egs_loan_rule loan = p->conf->tier[j->facts.tier].loan;
	struct egs_pending_result r = { .type = type,
					.held_by = EGS_RULE_FITS };
	uint32_t gpus = egs_job_gpus_wanted(j), room = EGS_UNLIMITED, borrow;
	enum egs_why_rule over = find_broken_limit(p, j, &r), borrows;
	struct quota_left left = find_quota_left(p, j, type);

	r.on_loan = over != EGS_RULE_FITS || loan == EGS_LOAN_ALWAYS ||
		    gpus > left.for_job;
	r.displaces = r.on_loan ? 0 : find_displaced(p, j, left.fills_floor);
	if (is_deferring(&p->conf->team[j->facts.team], over)) {
		r.held_by = over;
		return r;
	}
	borrows = check_borrowing(p, j, type, &r, &borrow);
	if (r.on_loan && loan == EGS_LOAN_NEVER)
		r.held_by = EGS_RULE_QUOTA;
	else if (r.on_loan)
		r.held_by = borrows;
	if (loan == EGS_LOAN_NEVER || borrow != EGS_UNLIMITED)
		room = r.on_loan ? egs_sub(borrow, gpus) : left.behind_job;
	r.room = min_u32(room_of_max_gpus(p, j, type), room);
	return r;
}

static bool is_better(const struct egs_pending_result *a,
		      const struct egs_pending_result *b)
{
	if ((a->held_by == EGS_RULE_FITS) != (b->held_by == EGS_RULE_FITS))
		return a->held_by == EGS_RULE_FITS;
	return !a->on_loan && b->on_loan;
}

/* Slurm gives a job without a GPU request all GPUs of its nodes if it is
 * exclusive: then MaxGpus of every type must leave room for them.
 */
static struct egs_pending_result
evaluate_without_gpus(const struct egs_policy *p, const struct egs_job *j)
{
	struct egs_pending_result r = { .type = j->facts.need.type,
					.held_by = EGS_RULE_FITS,
					.room = EGS_UNLIMITED };

	for (int t = 0; j->facts.team >= 0 && t < egs_policy_ntypes(p); t++)
		if (p->sums[t].total)
			r.room = min_u32(r.room, room_of_max_gpus(p, j, t));
	return r;
}

/* A job that accepts any GPU type is evaluated with the best one for it.  Slurm
 * may give it another, so MaxGpus of every type must leave room for it.
 */
struct egs_pending_result egs_pending_evaluate(const struct egs_policy *p,
					       const struct egs_job *j)
{
	struct egs_pending_result best = { .held_by = EGS_RULE_FITS,
					   .room = EGS_UNLIMITED };
	uint32_t room = EGS_UNLIMITED;

	best.type = j->facts.need.type;
	if (j->facts.tier < 0)
		return best;
	if (!egs_job_gpus_wanted(j))
		return evaluate_without_gpus(p, j);
	if (j->facts.team < 0) {
		best.on_loan =
			p->conf->tier[j->facts.tier].loan == EGS_LOAN_ALWAYS;
		return best;
	}
	if (best.type != EGS_TYPE_ANY)
		return evaluate_type(p, j, best.type);
	for (int t = 0; t < egs_policy_ntypes(p); t++) {
		struct egs_pending_result r = evaluate_type(p, j, t);

		if (!p->sums[t].total)
			continue;
		if (r.held_by == EGS_RULE_MAX_GPUS)
			return r;
		if (best.type == EGS_TYPE_ANY || is_better(&r, &best))
			best = r;
		room = min_u32(room, room_of_max_gpus(p, j, t));
	}
	if (best.type == EGS_TYPE_ANY)
		return evaluate_type(p, j, 0);
	best.room = min_u32(best.room, room);
	return best;
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
