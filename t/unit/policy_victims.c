/* policy_victims.c - the victims of a job are the weakest that suffice
 *
 * Random policies with random jobs.  The victims that the policy names are
 * compared with every set of jobs.  Which job is on loan then is not taken from
 * the rule under test: a second policy with the same history starts the
 * requester on a node of its own, and shows who is on loan beside it.  Left out
 * are policies in which the requester puts a large job on loan whose quota a
 * smaller one then gets: no rule about two jobs can foresee that.
 */
#include "t/lib/unit/policy_fixture.h"
#include "t/lib/unit/random.h"
#include "t/lib/unit/tap.h"

enum {
	POLICIES = 20000,
	JOBS = STORY_NODES * 2,
	REQUESTER = 100,
	SPARE_NODE = STORY_NODES, /* unknown: its GPUs count for quotas only */
	NOW = 5000,		  /* after every MinRuntime */
};

/* The jobs of one policy, and the requester. */
struct job_plan {
	int team, tier;
	uint32_t node, gpus;
};
struct plan {
	uint32_t quota[2];
	bool research_yields;
	uint32_t njobs;
	struct job_plan job[JOBS], requester;
};

static struct job_plan plan_job(uint64_t *seed, uint32_t node, uint32_t gpus)
{
	return (struct job_plan){ .team = (int)random_below(seed, 2),
				  .tier = (int)random_below(seed, 3),
				  .node = node,
				  .gpus = gpus };
}

/* Fill each node with one or two jobs; some GPUs stay free. */
static struct plan make_plan(uint64_t *seed)
{
	struct plan plan = { .research_yields = random_below(seed, 4) > 0 };

	for (int i = 0; i < 2; i++)
		plan.quota[i] = 4 * random_below(seed, 3);
	for (uint32_t node = 0; node < STORY_NODES; node++) {
		uint32_t first = 1U << random_below(seed, 3);

		plan.job[plan.njobs++] = plan_job(seed, node, first);
		if (first < STORY_NODE_GPUS)
			plan.job[plan.njobs++] = plan_job(seed, node, first);
	}
	plan.requester =
		plan_job(seed, SPARE_NODE, 1U << random_below(seed, 3));
	return plan;
}

static struct story play(const struct plan *plan)
{
	struct egs_policy_conf *c = story_conf();
	struct story s;

	c->team[RED].quota[STORY_GPU] = plan->quota[RED];
	c->team[BLUE].quota[STORY_GPU] = plan->quota[BLUE];
	c->tier[RESEARCH].yields = plan->research_yields;
	s = story_with(c);
	for (uint32_t i = 0; i < plan->njobs; i++)
		story_run(&s, 10 + i, 1 + i, plan->job[i].team,
			  plan->job[i].tier, plan->job[i].node,
			  plan->job[i].gpus);
	story_submit(&s, NOW, REQUESTER, plan->requester.team,
		     plan->requester.tier, plan->requester.gpus);
	return s;
}

/* What is true beside the requester. */
struct truth {
	bool requester_on_loan;
	bool on_loan[JOBS];
};

static struct truth find_truth(const struct plan *plan)
{
	struct truth truth;
	struct story s = play(plan);

	story_start(&s, NOW, REQUESTER, SPARE_NODE, plan->requester.gpus);
	truth.requester_on_loan = story_row(&s, REQUESTER).on_loan;
	for (uint32_t i = 0; i < plan->njobs; i++)
		truth.on_loan[i] = story_row(&s, 1 + i).on_loan;
	story_end(&s);
	return truth;
}

/* Smaller is stronger: the rule of the manual, written down once more. */
static int strength(bool on_loan, int tier)
{
	return (on_loan ? 100 : 0) + tier;
}

static bool may_take(const struct plan *plan, const struct truth *truth,
		     uint32_t i)
{
	if (strength(truth->requester_on_loan, plan->requester.tier) >=
	    strength(truth->on_loan[i], plan->job[i].tier))
		return false;
	return truth->on_loan[i] || plan->job[i].tier != RESEARCH ||
	       plan->research_yields;
}

static bool suffices(const struct plan *plan, uint32_t set)
{
	uint32_t room[STORY_NODES];

	for (uint32_t n = 0; n < STORY_NODES; n++)
		room[n] = STORY_NODE_GPUS;
	for (uint32_t i = 0; i < plan->njobs; i++)
		if (!(set >> i & 1))
			room[plan->job[i].node] -= plan->job[i].gpus;
	for (uint32_t n = 0; n < STORY_NODES; n++)
		if (room[n] >= plan->requester.gpus)
			return true;
	return false;
}

/* The strength of the strongest job of the set; -1: it has a job that may not
 * be taken.
 */
static int strongest(const struct plan *plan, const struct truth *truth,
		     uint32_t set)
{
	int found = 1000;

	for (uint32_t i = 0; i < plan->njobs; i++) {
		int s = strength(truth->on_loan[i], plan->job[i].tier);

		if (!(set >> i & 1))
			continue;
		if (!may_take(plan, truth, i))
			return -1;
		found = s < found ? s : found;
	}
	return found;
}

static uint32_t find_set(struct story *s, int *n)
{
	uint32_t victim[JOBS], set = 0;

	*n = egs_policy_find_victims(s->p, REQUESTER, NOW, victim, JOBS);
	for (int i = 0; i < *n; i++)
		set |= 1U << (victim[i] - 1);
	return set;
}

/* Counters of what is wrong, over all policies. */
struct faults {
	int preemptions, displaced;
	int forbidden, not_minimal, stronger, missed;
};

static void compare_sets(const struct plan *plan, const struct truth *truth,
			 uint32_t set, int n, struct faults *f)
{
	int mine = strongest(plan, truth, set);
	bool possible = false, weaker = false;

	for (uint32_t other = 0; other < 1U << plan->njobs; other++) {
		int s = suffices(plan, other) ? strongest(plan, truth, other)
					      : -1;

		possible |= s >= 0;
		weaker |= s > mine;
		f->not_minimal += n > 0 && other != set &&
				  (other & set) == other &&
				  suffices(plan, other);
	}
	f->missed += n < 0 && possible;
	f->forbidden += n > 0 && mine < 0;
	f->stronger += n > 0 && weaker;
}

static void check_policy(uint64_t *seed, struct faults *f)
{
	struct plan plan = make_plan(seed);
	struct truth truth = find_truth(&plan);
	struct story s = play(&plan);
	int n;
	uint32_t set = find_set(&s, &n);

	for (uint32_t i = 0; i < plan.njobs; i++)
		if (story_row(&s, 1 + i).on_loan && !truth.on_loan[i])
			goto out;
	f->preemptions += n > 0;
	for (uint32_t i = 0; n > 0 && i < plan.njobs; i++)
		f->displaced += truth.on_loan[i] &&
				!story_row(&s, 1 + i).on_loan && set >> i & 1;
	compare_sets(&plan, &truth, set, n, f);
out:
	story_end(&s);
}

static void random_policies(void)
{
	struct faults f = { 0 };
	uint64_t seed = 16;

	for (int i = 0; i < POLICIES; i++)
		check_policy(&seed, &f);
	ok(f.preemptions > POLICIES / 10 && f.displaced > POLICIES / 200,
	   "random policies preempt jobs, some of which the requester puts on "
	   "loan (%d, %d)",
	   f.preemptions, f.displaced);
	is_int(f.forbidden, 0, "no job is preempted that may not be");
	is_int(f.not_minimal, 0, "no set of victims has a job too many");
	is_int(f.stronger, 0,
	       "no preemption could have been done with weaker jobs");
	is_int(f.missed, 0, "a job that could preempt others finds victims");
}

/* Both jobs of each team are within quota, and those of the other team cost
 * less.
 */
static void own_team_first(void)
{
	struct story s = story_new();
	uint32_t victim = 0;

	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_run(&s, 1, 2, RED, RESEARCH, 1, 4);
	story_run(&s, 2, 3, BLUE, RESEARCH, 2, 4);
	story_run(&s, 3, 4, BLUE, RESEARCH, 3, 4);
	story_submit(&s, NOW, 5, RED, PROD, 4);
	is_int(egs_policy_find_victims(s.p, 5, NOW, &victim, 1), 1,
	       "a stronger job of a full team preempts one job");
	is_int(victim, 2,
	       "the victim is the job of the own team that would be on loan");
	story_preempt(&s, NOW + 1, 3, 5);
	egs_policy_find_victims(s.p, 5, NOW + 1, &victim, 1);
	is_int(victim, 3, "a job that is being preempted is not replaced");
	story_end(&s);
}

int main(void)
{
	plan_none();
	own_team_first();
	random_policies();
	return done_testing();
}
