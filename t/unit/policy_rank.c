/* policy_rank.c - shares, site factors and what a preemption costs */
#include "policyd/policy/usage.h"
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

/* Usage of RED in seconds of one GPU of rating 1.0 and weight 1.0. */
static intmax_t used_gpu_s(struct story *s)
{
	return (intmax_t)(egs_policy_team_usage(s->p, RED).units /
			  EGS_MILLI_ONE);
}

/* The charge has decayed a little before it is given back. */
#define DECAYED 1

static void start_charge(void)
{
	struct story s = story_new();

	s.conf->type[STORY_GPU].rating = EGS_MILLI_ONE;
	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	is_int(used_gpu_s(&s), INT64_C(4) * EGS_START_CHARGE_S,
	       "the start of a job is charged as ten minutes of its GPUs");
	story_preempt(&s, 5, 1, 0);
	story_tell(&s, 10, 1, EGS_EV_REQUEUED);
	is_int(used_gpu_s(&s), 4 * 10 - DECAYED,
	       "a preemption soon after the start gives back the charge");
	story_start(&s, 20, 1, 0, 4);
	is_int(used_gpu_s(&s), 4 * 10 - DECAYED,
	       "the restart of a preempted job is not charged");
	story_preempt(&s, 25, 1, 0);
	story_tell(&s, 30, 1, EGS_EV_REQUEUED);
	is_int(used_gpu_s(&s), 4 * (10 + 10) - DECAYED,
	       "a second preemption gives nothing back");
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

/* Jobs of one tier with four GPUs each that started together. */
static void reporting_decides_nothing(void)
{
	struct story s = story_new();

	for (uint32_t i = 0; i < 3; i++)
		story_run(&s, 0, 1 + i, RED, SCAVENGE, i, 4);
	story_saved(&s, 10, 2, 1);
	for (egs_time_t now = 100; now < 4000; now += 100)
		story_saved(&s, now, 1, 1);
	egs_policy_recompute_all(s.p, 4000);
	is_int(egs_policy_victim_cost(s.p, 1), egs_policy_victim_cost(s.p, 2),
	       "a job that saves often costs as much as one that saved once");
	is_int(egs_policy_victim_cost(s.p, 1), egs_policy_victim_cost(s.p, 3),
	       "a job that saves often costs as much as one that reports "
	       "nothing");
	ok(egs_policy_victim_cost(s.p, 1) < 4 * 4000,
	   "a job that can save costs less than all it has done");
	story_end(&s);
}

static void start_without(struct story *s, uint32_t id, bool ckpt, bool requeue)
{
	struct egs_event ev = story_job(id, RED, SCAVENGE, 4);

	ev.facts.ckpt = ckpt;
	ev.facts.can_requeue = requeue;
	story_step(s, 0, &ev);
	story_start(s, 0, id, id - 1, 4);
}

static void work_that_is_lost(void)
{
	struct story s = story_new();
	uint32_t victim = 0;

	start_without(&s, 1, true, false);
	start_without(&s, 2, false, true);
	story_run(&s, 0, 3, RED, SCAVENGE, 2, 4);
	story_run(&s, 0, 4, RED, SCAVENGE, 3, 4);
	story_saved(&s, 1000, 3, 1);
	story_saved(&s, 3900, 4, 1);
	egs_policy_recompute_all(s.p, 4000);
	is_int(egs_policy_victim_cost(s.p, 2), 4 * (4000 + EGS_RESTART_S),
	       "a job without a checkpoint costs all it has done");
	is_int(egs_policy_lost_gpu_s(s.p, 1), 4 * (4000 + EGS_RESTART_S),
	       "a job that cannot be requeued loses what it has done, no more");
	is_int(egs_policy_lost_gpu_s(s.p, 2), egs_policy_victim_cost(s.p, 2),
	       "a job that can be requeued costs what it loses");
	story_tell(&s, 4000, 3, EGS_EV_ENDED);
	story_tell(&s, 4000, 4, EGS_EV_ENDED);
	story_run(&s, 4000, 5, BLUE, RESEARCH, 2, 4);
	story_run(&s, 4000, 6, BLUE, RESEARCH, 3, 4);
	story_submit(&s, 4000, 7, RED, RESEARCH, 4);
	egs_policy_find_victims(s.p, 7, 4000, &victim, 1);
	is_int(victim, 2,
	       "a job that cannot be requeued is the last of its class");
	story_end(&s);
}

int main(void)
{
	plan_none();
	shares();
	start_charge();
	points();
	age_of_a_victim();
	reporting_decides_nothing();
	work_that_is_lost();
	return done_testing();
}
