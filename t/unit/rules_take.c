/* rules_take.c - the take rule is an order, and protections hold */
#include "common/base/array.h"
#include "common/rules/take_rule.h"
#include "t/lib/unit/random.h"
#include "t/lib/unit/tap.h"

#define TIERS 3
#define ROWS  (TIERS * 2 * 2 * 2)
#define NOW   1000

/* Every row of the small domain: tier, loan, dependents, need. */
static struct egs_take_view small_row(unsigned i)
{
	return (struct egs_take_view){
		.managed = true,
		.tier = (uint8_t)(i % TIERS),
		.on_loan = i / TIERS & 1,
		.dependents = i / TIERS >> 1 & 1,
		.needs_gpus = i / TIERS >> 2 & 1,
	};
}

static struct egs_take_view any_row(uint64_t *seed)
{
	uint32_t bits = random_below(seed, 1u << 20);

	return (struct egs_take_view){
		.managed = bits & 63,
		.tier = (uint8_t)(random_below(seed, 16)),
		.on_loan = bits >> 6 & 1,
		.dependents = bits >> 7 & 1,
		.needs_gpus = bits >> 8 & 3,
		.not_preemptible = bits >> 10 & 1,
		.over_limit = bits >> 11 & 1,
		.preempt_budget_used = bits >> 12 & 1,
		.protected_until = random_below(seed, 2 * NOW),
		.recall_from = random_below(seed, 2 * NOW),
	};
}

static bool takes(const struct egs_take_view *p, const struct egs_take_view *v)
{
	return egs_may_take(p, v, NOW) == EGS_TAKE_YES;
}

static bool equals(const struct egs_take_view *a, const struct egs_take_view *b)
{
	return !egs_takes_before(a, b) && !egs_takes_before(b, a);
}

/* What is wrong with the order at these three rows, or NULL. */
static const char *flaw(const struct egs_take_view *a,
			const struct egs_take_view *b,
			const struct egs_take_view *c)
{
	if (egs_takes_before(a, a) || takes(a, a))
		return "a job is before itself";
	if (egs_takes_before(a, b) && egs_takes_before(b, a))
		return "two jobs are before each other";
	if (egs_takes_before(a, b) && egs_takes_before(b, c) &&
	    !egs_takes_before(a, c))
		return "before is not transitive";
	if (equals(a, b) && equals(b, c) && !equals(a, c))
		return "equality is not transitive";
	if (takes(a, b) && !egs_takes_before(a, b))
		return "a job takes from one that is not weaker";
	if (takes(a, b) && takes(b, a))
		return "two jobs take from each other";
	if (takes(a, b) && takes(b, c) && takes(c, a))
		return "three jobs take in a cycle";
	if (egs_takes_before(a, b) && !(a->on_loan && a->over_limit) &&
	    egs_victim_class(a) <= egs_victim_class(b))
		return "victims do not come from the bottom of the order";
	return NULL;
}

static const char *flaw_of_small(void)
{
	for (unsigned i = 0; i < ROWS * ROWS * ROWS; i++) {
		struct egs_take_view a = small_row(i % ROWS);
		struct egs_take_view b = small_row(i / ROWS % ROWS);
		struct egs_take_view c = small_row(i / ROWS / ROWS);
		const char *what = flaw(&a, &b, &c);

		if (what)
			return what;
	}
	return NULL;
}

static const char *flaw_of_large(void)
{
	uint64_t seed = 3;

	for (int i = 0; i < 500000; i++) {
		struct egs_take_view a = any_row(&seed);
		struct egs_take_view b = any_row(&seed);
		struct egs_take_view c = any_row(&seed);
		const char *what = flaw(&a, &b, &c);

		if (what)
			return what;
	}
	return NULL;
}

/* Among jobs that need GPUs the rule without protections is the order. */
static bool rule_is_order(void)
{
	for (unsigned i = 0; i < ROWS * ROWS; i++) {
		struct egs_take_view a = small_row(i % ROWS);
		struct egs_take_view b = small_row(i / ROWS);

		if (takes(&a, &b) != (a.needs_gpus && egs_takes_before(&a, &b)))
			return false;
	}
	return true;
}

static const struct {
	const char *title;
	struct egs_take_view p, v;
	enum egs_take_result want;
} cases[] = {
	{ "a job within quota takes from a stronger tier on loan",
	  { .managed = 1, .needs_gpus = 1, .tier = 2 },
	  { .managed = 1, .needs_gpus = 1, .tier = 0, .on_loan = 1 },
	  EGS_TAKE_YES },
	{ "a stronger tier on loan takes nothing from a job within quota",
	  { .managed = 1, .needs_gpus = 1, .tier = 0, .on_loan = 1 },
	  { .managed = 1, .needs_gpus = 1, .tier = 2 },
	  EGS_TAKE_WEAKER },
	{ "within quota the stronger tier takes from the weaker",
	  { .managed = 1, .needs_gpus = 1, .tier = 0 },
	  { .managed = 1, .needs_gpus = 1, .tier = 1 },
	  EGS_TAKE_YES },
	{ "jobs of one tier take nothing from each other",
	  { .managed = 1, .needs_gpus = 1, .tier = 1 },
	  { .managed = 1, .needs_gpus = 1, .tier = 1 },
	  EGS_TAKE_WEAKER },
	{ "a job with dependents takes from a job of its tier without",
	  { .managed = 1, .needs_gpus = 1, .tier = 1, .dependents = 1 },
	  { .managed = 1, .needs_gpus = 1, .tier = 1 },
	  EGS_TAKE_YES },
	{ "a CPU-only phase takes no GPU",
	  { .managed = 1, .tier = 0 },
	  { .managed = 1, .needs_gpus = 1, .tier = 2, .on_loan = 1 },
	  EGS_TAKE_NO_NEED },
	{ "a heterogeneous job takes nothing",
	  { .managed = 1, .needs_gpus = 1, .het = 1, .tier = 0 },
	  { .managed = 1, .needs_gpus = 1, .tier = 2, .on_loan = 1 },
	  EGS_TAKE_NO_NEED },
	{ "an unmanaged job takes nothing",
	  { .needs_gpus = 1, .tier = 0 },
	  { .managed = 1, .needs_gpus = 1, .tier = 2, .on_loan = 1 },
	  EGS_TAKE_UNMANAGED },
	{ "nothing is taken from an unmanaged job",
	  { .managed = 1, .needs_gpus = 1, .tier = 0 },
	  { .needs_gpus = 1, .tier = 2, .on_loan = 1 },
	  EGS_TAKE_UNMANAGED },
	{ "MinRuntime protects against a stronger tier",
	  { .managed = 1, .needs_gpus = 1, .tier = 0 },
	  { .managed = 1, .tier = 1, .protected_until = NOW + 1 },
	  EGS_TAKE_PROTECTED },
	{ "MinRuntime ends to the second",
	  { .managed = 1, .needs_gpus = 1, .tier = 0 },
	  { .managed = 1, .tier = 1, .protected_until = NOW },
	  EGS_TAKE_YES },
	{ "MinRuntime does not protect against a recall",
	  { .managed = 1, .needs_gpus = 1, .tier = 1 },
	  { .managed = 1, .tier = 0, .on_loan = 1, .protected_until = 2000 },
	  EGS_TAKE_YES },
	{ "RecallDelay protects against a recall",
	  { .managed = 1, .needs_gpus = 1, .tier = 1 },
	  { .managed = 1, .tier = 0, .on_loan = 1, .recall_from = NOW + 1 },
	  EGS_TAKE_PROTECTED },
	{ "a job in a floor within quota is never preempted",
	  { .managed = 1, .needs_gpus = 1, .tier = 0 },
	  { .managed = 1, .tier = 1, .not_preemptible = 1 },
	  EGS_TAKE_NOT_PREEMPTIBLE },
	{ "a job with Yields=no is preempted when it is on loan",
	  { .managed = 1, .needs_gpus = 1, .tier = 1 },
	  { .managed = 1, .tier = 0, .not_preemptible = 1, .on_loan = 1 },
	  EGS_TAKE_YES },
};

static void victims_in_order(void)
{
	struct egs_take_view a = { .tier = 1, .on_loan = true }, b = a;

	b.over_limit = true;
	ok(egs_victim_class(&b) < egs_victim_class(&a),
	   "a loan over a limit is preempted before other loans");
	b.tier = 0;
	ok(egs_victim_class(&b) < egs_victim_class(&a),
	   "a loan over a limit is preempted first even if its tier is "
	   "stronger");
	b.on_loan = false;
	ok(egs_victim_class(&b) > egs_victim_class(&a),
	   "an owned job is preempted after every loan");
	b = a;
	b.preempt_budget_used = true;
	ok(egs_victim_class(&b) > egs_victim_class(&a),
	   "a job that reached MaxPreemptions is preempted last in its class");
	a.tier = 0;
	ok(egs_victim_class(&b) < egs_victim_class(&a),
	   "a job that reached MaxPreemptions is preempted before a stronger "
	   "tier");
}

/* P of tier 0 has 4 GPUs; V of its team is within quota and never yields. */
static void displaced_jobs(void)
{
	struct egs_take_view p = { .managed = true, .needs_gpus = true };
	struct egs_take_view v = { .managed = true, .tier = 1, .slack = 3 };

	p.gpus = 4;
	p.displaces = 2;
	v.not_preemptible = true;
	v.span = EGS_SPAN_NO_END;
	is_int(egs_may_take(&p, &v, 0), EGS_TAKE_YES,
	       "a job that the requester displaces from the quota is on loan");
	v.slack = 4;
	is_int(egs_may_take(&p, &v, 0), EGS_TAKE_NOT_PREEMPTIBLE,
	       "a job that still fits beside the requester is not on loan");
	v.slack = 0;
	v.span = 3;
	is_int(egs_may_take(&p, &v, 0), EGS_TAKE_NOT_PREEMPTIBLE,
	       "a job that a larger one may leave room is not on loan");
	v.span = EGS_SPAN_NO_END;
	v.team = 1;
	is_int(egs_may_take(&p, &v, 0), EGS_TAKE_NOT_PREEMPTIBLE,
	       "a requester displaces no job of another team");
	v.on_loan = true;
	p.team = v.team;
	p.displaces = 0;
	ok(egs_victim_class_for(&p, &v, false) <
		   egs_victim_class_for(&(struct egs_take_view){ .team = 2 },
					&v, false),
	   "a loan of the own team is preempted before other loans");
	is_int(egs_victim_class_for(&p, &v, true), 0,
	       "a job that is being preempted comes first");
}

/* All classes: loan, limit, tier, dependents, budget. */
static struct egs_take_view row_of_bits(uint32_t bits)
{
	return (struct egs_take_view){
		.tier = (uint8_t)bits,
		.on_loan = bits >> 8 & 1,
		.over_limit = bits >> 9 & 1,
		.dependents = bits >> 10 & 1,
		.preempt_budget_used = bits >> 11 & 1,
	};
}

static bool keys_follow_classes(void)
{
	for (uint32_t i = 0; i < 1U << 24; i++) {
		struct egs_take_view a = row_of_bits(i),
				     b = row_of_bits(i >> 12);

		if (egs_victim_class(&a) < egs_victim_class(&b) &&
		    egs_victim_key(&a, UINT32_MAX) >= egs_victim_key(&b, 0))
			return false;
	}
	return true;
}

static void keys_in_order(void)
{
	struct egs_take_view a = { .tier = 0 };

	ok(keys_follow_classes(),
	   "lost work never outweighs the class of a victim");
	ok(egs_victim_key(&a, 5) < egs_victim_key(&a, 6),
	   "within a class the job with the least lost work is preempted "
	   "first");
	a = (struct egs_take_view){ .tier = UINT8_MAX,
				    .on_loan = 1,
				    .over_limit = 1 };
	ok(egs_victim_key(&a, 0) > 0, "the key of a victim is never 0");
}

int main(void)
{
	const char *what;

	plan_none();
	what = flaw_of_small();
	ok(!what, "every three rows of the small domain are in order%s%s",
	   what ? ": " : "", what ? what : "");
	what = flaw_of_large();
	ok(!what, "random rows of a large domain are in order%s%s",
	   what ? ": " : "", what ? what : "");
	ok(rule_is_order(), "without protection the rule equals the order");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		is_int(egs_may_take(&cases[i].p, &cases[i].v, NOW),
		       cases[i].want, "%s", cases[i].title);
	victims_in_order();
	displaced_jobs();
	keys_in_order();
	return done_testing();
}
