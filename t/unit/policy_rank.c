/* policy_rank.c - shares, site factors and what a preemption costs */
#include "t/lib/unit/policy_fixture.h"
#include "t/lib/unit/tap.h"

#define DAY INT64_C(86400)

static int32_t factor(struct story *s, uint32_t id)
{
	egs_policy_recompute_all(s->p, s->now);
	return egs_policy_job(s->p, id)->site_factor;
}

static void shares(void)
{
	struct story s = story_new();

	story_submit(&s, 0, 1, RED, RESEARCH, 1);
	story_submit(&s, 0, 2, BLUE, RESEARCH, 1);
	is_int(factor(&s, 1), factor(&s, 2),
	       "teams with equal shares and no usage have equal site factors");
	story_run(&s, 0, 3, RED, RESEARCH, 0, 4);
	ok(factor(&s, 1) < factor(&s, 2),
	   "a team that starts a job has a lower site factor");
	story_tick(&s, 86400);
	story_tell(&s, 86400, 3, EGS_EV_ENDED);
	story_run(&s, 86400, 4, BLUE, RESEARCH, 0, 1);
	ok(factor(&s, 1) < factor(&s, 2),
	   "usage of a day lowers the site factor more than a start");
	ok(egs_policy_decayed_usage(s.p, RED) >
		   egs_policy_decayed_usage(s.p, BLUE),
	   "the usage of a day is in the decayed usage of the team");
	story_tick(&s, 60 * DAY);
	ok(factor(&s, 1) > factor(&s, 2),
	   "usage of two months ago no longer lowers the site factor");
	story_end(&s);
}

static void points(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(3, RED, RESEARCH, 1);

	story_submit(&s, 0, 1, RED, PROD, 1);
	story_submit(&s, 0, 2, RED, RESEARCH, 1);
	ev.facts.dependents = true;
	story_step(&s, 0, &ev);
	is_int(factor(&s, 1) - factor(&s, 2), 1250,
	       "each tier is worth its part of SiteFactorMax");
	is_int(factor(&s, 3) - factor(&s, 2), 1250,
	       "dependents are worth their part of SiteFactorMax");
	s.conf->dependents_first = EGS_DEPENDENTS_NO;
	is_int(factor(&s, 3) - factor(&s, 2), 0,
	       "with DependentsFirst=no dependents are worth nothing");
	s.conf->site_factor_max = 0;
	is_int(factor(&s, 1), 0, "SiteFactorMax=0 makes every site factor 0");
	story_end(&s);
}

/* Slurm resets the age of a requeued job, the policy does not. */
static void age_of_a_victim(void)
{
	struct story s = story_new();

	story_submit(&s, 0, 1, RED, RESEARCH, 1);
	story_start(&s, 7 * DAY, 1, 0, 1);
	story_tell(&s, 7 * DAY + 60, 1, EGS_EV_REQUEUED);
	story_submit(&s, 7 * DAY + 60, 2, RED, RESEARCH, 1);
	is_int(factor(&s, 1) - factor(&s, 2), 1250,
	       "a week of waiting gives a requeued job all points of age");
	story_end(&s);
}

/* Jobs on loan of one tier: reporting saves is no disadvantage. */
static void reporting_never_hurts(void)
{
	struct story s = story_new();
	uint32_t victim = 0;
	struct egs_event ev;

	for (uint32_t i = 0; i < 4; i++)
		story_run(&s, 0, 1 + i, RED, SCAVENGE, i, 4);
	for (uint32_t id = 1; id <= 3; id++) {
		ev = story_event(&s, id, EGS_EV_SAVED);
		story_step(&s, INT64_C(1000) * id, &ev);
	}
	story_submit(&s, 4000, 9, BLUE, RESEARCH, 4);
	egs_policy_recompute_all(s.p, 4000);
	egs_policy_find_victims(s.p, 9, 4000, &victim, 1);
	is_int(victim, 3,
	       "the job that saved last loses the least and is the victim");
	story_tell(&s, 4001, 3, EGS_EV_ENDED);
	story_submit(&s, 4002, 10, BLUE, RESEARCH, 4);
	story_start(&s, 4002, 9, 2, 4);
	egs_policy_find_victims(s.p, 10, 4002, &victim, 1);
	is_int(victim, 4,
	       "a job that never reports saves is the victim before one that "
	       "saved long ago");
	story_end(&s);
}

int main(void)
{
	plan_none();
	shares();
	points();
	age_of_a_victim();
	reporting_never_hurts();
	return done_testing();
}
