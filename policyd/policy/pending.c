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

/* GPUs that start with a job: its own, and those of the other components of its
 * heterogeneous job that belong to the same team.  Slurm starts all components
 * or none.
 */
struct wanted_gpus {
	uint32_t of_type[EGS_TYPE_ROWS];
	uint32_t of_any; /* of jobs that accept any type */
};

static void add_wanted(struct wanted_gpus *w, const struct egs_job *j)
{
	bool by_type = false;

	for (int t = 0; t < EGS_TYPE_ROWS; t++) {
		w->of_type[t] += j->facts.by_type[t];
		by_type |= j->facts.by_type[t] > 0;
	}
	if (by_type)
		return;
	if (j->facts.need.type == EGS_TYPE_ANY)
		w->of_any += egs_job_gpus_wanted(j);
	else
		w->of_type[j->facts.need.type] += egs_job_gpus_wanted(j);
}

/* Slurm gives the components of a job ids in a row. */
static struct wanted_gpus count_wanted(const struct egs_policy *p,
				       const struct egs_job *j)
{
	struct wanted_gpus w = { .of_any = 0 };
	uint32_t id = j->facts.het_job;
	const struct egs_job *other;

	add_wanted(&w, j);
	for (; id && (other = egs_policy_job(p, id)); id++) {
		if (other->facts.het_job != j->facts.het_job)
			break;
		if (other != j && !other->running &&
		    other->facts.team == j->facts.team)
			add_wanted(&w, other);
	}
	return w;
}

/* May the team borrow 'gpus' more?  Loans of weaker tiers do not count: the job
 * may preempt them.  '*room' is how many more the team may borrow.
 */
static enum egs_why_rule check_borrowing(const struct egs_policy *p,
					 const struct egs_job *j, uint32_t gpus,
					 struct egs_pending_result *r,
					 uint32_t *room)
{
	int type = r->type;
	const struct egs_team *team = &p->conf->team[j->facts.team];
	const struct egs_loan_book *l = egs_loans_book(p, j->facts.team, type);
	uint64_t withheld = p->sums[type].withheld -
			    egs_loans_withheld(p, j->facts.team, type);
	uint64_t pool = loan_pool_size(p, type, withheld), loans = 0;
	uint32_t borrow, lend;

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

/* The limit that 'gpus' GPUs for the job would break, or EGS_RULE_FITS. */
static enum egs_why_rule find_broken_limit(const struct egs_policy *p,
					   const struct egs_job *j,
					   uint32_t gpus,
					   struct egs_pending_result *r)
{
	const struct egs_loan_book *l =
		egs_loans_book(p, j->facts.team, r->type);
	const struct egs_rate *hours = find_hours_limit(p, j, r->type);

	r->limit = l->max_gpus;
	if (gpus > max_gpus_left(l))
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

/* What MaxGpus leaves beside 'gpus' GPUs for the job. */
static uint32_t room_of_max_gpus(const struct egs_policy *p,
				 const struct egs_job *j, int type,
				 uint32_t gpus)
{
	uint32_t left = max_gpus_left(egs_loans_book(p, j->facts.team, type));

	return left == EGS_UNLIMITED ? left : egs_sub(left, gpus);
}

/* The quota that is left for the job, and with it for others of its team. */
struct quota_left {
	uint32_t for_job, behind_job;
	bool fills_floor;
};

static struct quota_left find_quota_left(const struct egs_policy *p,
					 const struct egs_job *j, int type,
					 uint32_t gpus)
{
	const struct egs_loan_book *l = egs_loans_book(p, j->facts.team, type);
	struct quota_left left = { .fills_floor = lacks_floor(p, j, l, type) };

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

static struct egs_pending_result evaluate_type(const struct egs_policy *p,
					       const struct egs_job *j,
					       int type, uint32_t gpus)
{
	enum egs_loan_rule loan = p->conf->tier[j->facts.tier].loan;
	struct egs_pending_result r = { .type = type,
					.gpus = gpus,
					.held_by = EGS_RULE_FITS };
	uint32_t room = EGS_UNLIMITED, borrow;
	enum egs_why_rule over = find_broken_limit(p, j, gpus, &r), borrows;
	struct quota_left left = find_quota_left(p, j, type, gpus);

	r.on_loan = over != EGS_RULE_FITS || loan == EGS_LOAN_ALWAYS ||
		    gpus > left.for_job;
	r.displaces = r.on_loan ? 0 : find_displaced(p, j, left.fills_floor);
	if (is_deferring(&p->conf->team[j->facts.team], over)) {
		r.held_by = over;
		return r;
	}
	borrows = check_borrowing(p, j, gpus, &r, &borrow);
	if (r.on_loan && loan == EGS_LOAN_NEVER)
		r.held_by = EGS_RULE_QUOTA;
	else if (r.on_loan)
		r.held_by = borrows;
	if (loan == EGS_LOAN_NEVER || borrow != EGS_UNLIMITED)
		room = r.on_loan ? egs_sub(borrow, gpus) : left.behind_job;
	r.room = min_u32(room_of_max_gpus(p, j, type, gpus), room);
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
			r.room = min_u32(r.room, room_of_max_gpus(p, j, t, 0));
	return r;
}

/* Does the job itself need GPUs of this type? */
static bool needs_type(const struct egs_job *j, int type)
{
	return j->facts.by_type[type] || j->facts.need.type == type;
}

/* Add the result for one more type that the job needs.  All of them must be
 * free: one limit holds the job, and one loan makes it a loan.  A type that
 * only another component of the job needs counts for its limits.
 */
static void combine_types(struct egs_pending_result *all, bool first,
			  const struct egs_pending_result *r, bool own)
{
	uint32_t room = min_u32(all->room, r->room);

	if (all->held_by != EGS_RULE_FITS)
		return;
	if (r->held_by != EGS_RULE_FITS || first) {
		*all = *r;
	} else if (own && r->on_loan) {
		all->on_loan = true;
		all->displaces = 0;
	}
	all->room = room;
}

/* Evaluate the types that the job, or another component, names. */
static struct egs_pending_result
evaluate_named_types(const struct egs_policy *p, const struct egs_job *j,
		     const struct wanted_gpus *w)
{
	struct egs_pending_result all = { .type = EGS_TYPE_ANY,
					  .held_by = EGS_RULE_FITS,
					  .room = EGS_UNLIMITED };
	bool own_seen = false;

	for (int t = 0; t < egs_policy_ntypes(p); t++) {
		uint32_t gpus = w->of_type[t] + w->of_any;
		bool own = needs_type(j, t);
		struct egs_pending_result r;

		if (!w->of_type[t])
			continue;
		r = evaluate_type(p, j, t, gpus);
		combine_types(&all, own && !own_seen, &r, own);
		own_seen |= own;
	}
	return all;
}

/* A job that accepts any GPU type is evaluated with the best one for it.  Slurm
 * may give it another, so MaxGpus of every type must leave room for it.
 */
static struct egs_pending_result evaluate_any_type(const struct egs_policy *p,
						   const struct egs_job *j,
						   const struct wanted_gpus *w)
{
	struct egs_pending_result best = { .type = EGS_TYPE_ANY };
	uint32_t room = EGS_UNLIMITED;

	for (int t = 0; t < egs_policy_ntypes(p); t++) {
		uint32_t gpus = w->of_type[t] + w->of_any;
		struct egs_pending_result r = evaluate_type(p, j, t, gpus);

		if (!p->sums[t].total)
			continue;
		if (r.held_by == EGS_RULE_MAX_GPUS)
			return r;
		if (best.type == EGS_TYPE_ANY || is_better(&r, &best))
			best = r;
		room = min_u32(room, room_of_max_gpus(p, j, t, gpus));
	}
	if (best.type == EGS_TYPE_ANY)
		return evaluate_type(p, j, 0, w->of_type[0] + w->of_any);
	best.room = min_u32(best.room, room);
	return best;
}

struct egs_pending_result egs_pending_evaluate(const struct egs_policy *p,
					       const struct egs_job *j)
{
	struct egs_pending_result r = { .type = j->facts.need.type,
					.held_by = EGS_RULE_FITS,
					.room = EGS_UNLIMITED };
	struct wanted_gpus w;

	if (j->facts.tier < 0)
		return r;
	if (!egs_job_gpus_counted(j))
		return evaluate_without_gpus(p, j);
	if (j->facts.team < 0) {
		r.on_loan =
			p->conf->tier[j->facts.tier].loan == EGS_LOAN_ALWAYS;
		return r;
	}
	w = count_wanted(p, j);
	for (int t = 0; t < egs_policy_ntypes(p); t++)
		if (needs_type(j, t))
			return evaluate_named_types(p, j, &w);
	return evaluate_any_type(p, j, &w);
}

bool egs_pending_is_over_limit(const struct egs_policy *p,
			       const struct egs_job *j)
{
	struct wanted_gpus w;

	if (j->facts.team < 0 || j->facts.tier < 0 || !egs_job_gpus_counted(j))
		return false;
	w = count_wanted(p, j);
	for (int t = 0; t < egs_policy_ntypes(p); t++) {
		struct egs_pending_result r = { .type = t };
		uint32_t gpus = w.of_type[t] + (t == 0 ? w.of_any : 0);

		if (gpus && find_broken_limit(p, j, gpus, &r) != EGS_RULE_FITS)
			return true;
	}
	return false;
}
