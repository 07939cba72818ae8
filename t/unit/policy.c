/* policy.c - quotas, loans and recall on a cluster of 16 GPUs */
#include "t/lib/unit/policy_fixture.h"
#include "t/lib/unit/random.h"
#include "t/lib/unit/tap.h"

#define HOUR INT64_C(3600)

/* Red fills the cluster; blue takes back what is beyond red's quota. */
static void an_owner_gets_its_quota_back(void)
{
	struct story s = story_new();
	uint32_t victim[4] = { 0 };

	for (uint32_t i = 0; i < 4; i++)
		story_run(&s, i, 1 + i, RED, RESEARCH, i, 4);
	ok(!story_row(&s, 1).on_loan && !story_row(&s, 2).on_loan,
	   "the first 8 GPUs of a team with quota 8 are owned");
	ok(story_row(&s, 3).on_loan && story_row(&s, 4).on_loan,
	   "GPUs of a team beyond its quota are on loan");
	is_int(egs_policy_quota_use(s.p, BLUE, STORY_GPU).idle, 8,
	       "the whole quota of an idle team is lent");
	story_submit(&s, 10, 5, BLUE, RESEARCH, 4);
	ok(!story_row(&s, 5).on_loan,
	   "a pending job within its team's quota would be owned");
	ok(!story_may_take(&s, 5, 1),
	   "a job within quota may not preempt an owned job of another team");
	ok(story_may_take(&s, 5, 3),
	   "a job within quota may preempt a job on loan at once");
	is_int(egs_policy_find_victims(s.p, 5, 10, victim, 4), 1,
	       "one victim suffices for a job of its size");
	ok(victim[0] == 3 || victim[0] == 4, "the victim is a job on loan");
	story_tell(&s, 20, victim[0], EGS_EV_REQUEUED);
	story_start(&s, 21, 5, victim[0] - 1, 4);
	ok(!story_row(&s, 5).on_loan,
	   "a job that was started in place of a loan is owned");
	ok(!story_may_take(&s, victim[0], 5),
	   "the victim may not preempt the job it was preempted for");
	story_end(&s);
}

/* In observe mode the victim stays, and counts for one job at a time. */
static void a_victim_is_observed_once(void)
{
	struct story s = story_new();
	uint32_t victim[4] = { 0 };

	for (uint32_t i = 0; i < 4; i++)
		story_run(&s, i, 1 + i, RED, RESEARCH, i, 4);
	story_submit(&s, 10, 5, BLUE, RESEARCH, 4);
	story_submit(&s, 10, 6, BLUE, RESEARCH, 4);
	egs_policy_find_victims(s.p, 5, 10, victim, 4);
	egs_policy_set_observed(s.p, victim[0], 5);
	is_int(egs_policy_find_victims(s.p, 5, 10, victim + 1, 1), 1,
	       "a job keeps the victim that was recorded for it");
	is_int(victim[1], victim[0], "the victim of a job stays the same");
	egs_policy_find_victims(s.p, 6, 10, victim + 2, 1);
	ok(victim[2] != victim[0], "another job has another victim");
	egs_policy_set_observed(s.p, victim[2], 6);
	story_submit(&s, 10, 7, BLUE, PROD, 4);
	ok(egs_policy_find_victims(s.p, 7, 10, victim + 3, 1) < 1,
	   "a job has no victim if all are recorded for others");
	egs_policy_set_observed(s.p, victim[0], 0);
	ok(egs_policy_find_victims(s.p, 7, 10, victim + 3, 1) == 1 &&
		   victim[3] == victim[0],
	   "a victim can be recorded again when its requester has started");
	story_end(&s);
}

static void tiers_inside_a_team(void)
{
	struct story s = story_new();

	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_run(&s, 0, 2, RED, RESEARCH, 1, 4);
	story_submit(&s, 10, 3, RED, PROD, 4);
	ok(story_row(&s, 3).on_loan,
	   "within MinRuntime the quota stays with jobs of weaker tiers");
	ok(!story_may_take(&s, 3, 1), "within MinRuntime a stronger tier "
				      "preempts no owned job of its team");
	story_tick(&s, STORY_MIN_RUNTIME);
	ok(!story_row(&s, 3).on_loan,
	   "after MinRuntime a pending job of a stronger tier would be owned");
	ok(story_may_take(&s, 3, 2),
	   "after MinRuntime a stronger tier may preempt a weaker one");
	story_start(&s, STORY_MIN_RUNTIME + 1, 3, 2, 4);
	ok(story_row(&s, 2).on_loan && !story_row(&s, 1).on_loan,
	   "when a stronger job starts, the youngest weaker job becomes a "
	   "loan");
	ok(s.rows_changed, "rows are published when a job becomes a loan");
	story_tell(&s, STORY_MIN_RUNTIME + 2, 3, EGS_EV_ENDED);
	ok(!story_row(&s, 2).on_loan,
	   "a job on loan is owned at once when the stronger job ends");
	story_end(&s);
}

/* The numbers that a user sees at submission. */
static void quota_left(void)
{
	struct story s = story_new();

	is_int(egs_policy_quota_left(s.p, RED, STORY_GPU, RESEARCH), 8,
	       "an idle team has its whole quota left");
	is_int(egs_policy_quota_left(s.p, RED, STORY_GPU, SCAVENGE), 0,
	       "a tier with Loan=always has no quota left");
	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_tick(&s, STORY_MIN_RUNTIME);
	is_int(egs_policy_quota_left(s.p, RED, STORY_GPU, RESEARCH), 4,
	       "quota left is the quota minus the GPUs in use");
	is_int(egs_policy_quota_left(s.p, RED, STORY_GPU, PROD), 8,
	       "for a stronger tier, GPUs of weaker tiers count as left");
	is_int(egs_policy_quota_left(s.p, BLUE, STORY_GPU, PROD), 8,
	       "GPUs of one team do not change the quota left of another");
	story_end(&s);
	s = story_new();
	s.conf->team[RED].max_gpus[STORY_GPU] = 6;
	story_node(&s, 0, 0, true);
	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	is_int(egs_policy_quota_left(s.p, RED, STORY_GPU, RESEARCH), 2,
	       "quota left is at most what MaxGpus allows");
	story_end(&s);
}

/* LimitAction=loan, the default: it is about MaxGpuHours alone. */
static void max_gpus(void)
{
	struct story s = story_new();
	struct egs_event ev;

	s.conf->team[RED].max_gpus[STORY_GPU] = 6;
	s.conf->tier[RESEARCH].loan = EGS_LOAN_NEVER;
	story_node(&s, 0, 0, true);
	story_submit(&s, 0, 2, RED, RESEARCH, 2);
	is_int(story_row(&s, 2).room, 4,
	       "the room of a pending job is what MaxGpus leaves beside it");
	story_submit(&s, 0, 3, BLUE, RESEARCH, 1);
	is_int(story_row(&s, 3).room, 7,
	       "with Loan=never the room is the quota beside the job");
	story_submit(&s, 0, 4, BLUE, SCAVENGE, 1);
	is_int(story_row(&s, 4).room, EGS_UNLIMITED,
	       "a job without a limit has room for any number of GPUs");
	ev = story_job(6, RED, RESEARCH, 1);
	ev.facts.need.type = EGS_TYPE_ANY;
	story_step(&s, 0, &ev);
	is_int(story_row(&s, 6).room, 5,
	       "MaxGpus of a type binds a job that accepts any type");
	story_run(&s, 0, 1, RED, SCAVENGE, 0, 4);
	ok(!story_row(&s, 2).over_limit_pending && !story_row(&s, 2).room,
	   "a job up to MaxGpus has no room beside it");
	story_run(&s, 0, 5, RED, -1, 1, 1);
	ok(story_row(&s, 2).over_limit_pending,
	   "a job beyond MaxGpus is deferred, and unmanaged jobs count");
	story_end(&s);
}

static void scavengers(void)
{
	struct story s = story_new();

	story_run(&s, 0, 1, RED, SCAVENGE, 0, 4);
	ok(story_row(&s, 1).on_loan,
	   "a scavenger is on loan in an empty cluster");
	story_submit(&s, 0, 2, RED, RESEARCH, 4);
	ok(story_may_take(&s, 2, 1),
	   "a team may preempt its own scavenger at once");
	story_run(&s, 0, 3, RED, -1, 1, 4);
	ok(!story_may_take(&s, 2, 3), "an unmanaged job is never preempted");
	is_int(egs_policy_quota_use(s.p, RED, STORY_GPU).unmanaged, 4,
	       "an unmanaged job counts in the quota of its team");
	story_end(&s);
}

static void capacity_lost(void)
{
	struct story s = story_new();

	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_run(&s, 1, 2, RED, RESEARCH, 1, 4);
	story_tick(&s, STORY_MIN_RUNTIME + 1);
	story_node(&s, STORY_MIN_RUNTIME + 2, 3, false);
	is_int(egs_policy_quota_use(s.p, RED, STORY_GPU).in_force, 6,
	       "when a quarter of the cluster is down, each quota is a quarter "
	       "smaller");
	ok(story_row(&s, 2).on_loan,
	   "a job that no longer fits in a smaller quota is on loan");
	story_node(&s, STORY_MIN_RUNTIME + 3, 3, true);
	ok(!story_row(&s, 2).on_loan,
	   "a job is owned again when its node is back");
	story_end(&s);
}

/* Green has no quota; red and blue leave 8 GPUs unused, 3 and 5. */
static void lent_gpus_add_up(void)
{
	struct egs_policy_conf *c = story_conf();
	struct story s;
	uint32_t red, blue;

	egs_conf_add_team(c, "green");
	s = story_with(c);
	story_run(&s, 0, 1, RED, RESEARCH, 0, 3);
	story_run(&s, 0, 2, RED, RESEARCH, 1, 2);
	story_run(&s, 0, 3, BLUE, RESEARCH, 2, 3);
	story_run(&s, 0, 4, BLUE + 1, RESEARCH, 1, 2);
	story_run(&s, 0, 5, BLUE + 1, RESEARCH, 3, 3);
	red = egs_policy_lent(s.p, RED, STORY_GPU, 16);
	blue = egs_policy_lent(s.p, BLUE, STORY_GPU, 16);
	is_int(red + blue, 5, "teams lend what another team has on loan");
	ok(red == 1 || red == 2,
	   "a team lends in proportion to what it leaves");
	is_int(egs_policy_lent(s.p, BLUE + 1, STORY_GPU, 16), 0,
	       "a team without a quota lends nothing");
	is_int(egs_policy_lent(s.p, RED, STORY_GPU, 32), 0,
	       "GPUs that no team owns are lent first");
	story_end(&s);
}

/* A job that is larger than what is left of its team's quota is on loan. */
static void no_team_lends_to_itself(void)
{
	struct story s = story_new();

	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_run(&s, 0, 2, RED, RESEARCH, 1, 2);
	story_run(&s, 0, 3, RED, RESEARCH, 2, 4);
	is_int(egs_policy_quota_use(s.p, RED, STORY_GPU).on_loan, 4,
	       "a job beyond the rest of the quota is on loan as a whole");
	is_int(egs_policy_lent(s.p, RED, STORY_GPU, 16), 0,
	       "a team does not lend to its own job");
	is_int(egs_policy_lent(s.p, BLUE, STORY_GPU, 16), 2,
	       "the other team lends the rest");
	story_end(&s);
}

static void lending(void)
{
	struct egs_policy_conf *c = story_conf();
	struct egs_why why;
	struct story s;

	c->team[BLUE].lend_pct = 50;
	s = story_with(c);
	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_run(&s, 0, 2, RED, RESEARCH, 1, 4);
	story_run(&s, 0, 3, RED, RESEARCH, 2, 4);
	story_submit(&s, 1, 4, RED, RESEARCH, 4);
	egs_policy_why(s.p, 4, 1, &why);
	is_int(why.rule, EGS_RULE_LEND_LIMIT,
	       "a job that needs more than Lend=50%% of the other quota is "
	       "deferred");
	story_end(&s);

	c = story_conf();
	c->team[RED].borrow_pct = 25;
	s = story_with(c);
	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_run(&s, 0, 2, RED, RESEARCH, 1, 4);
	story_submit(&s, 1, 3, RED, RESEARCH, 4);
	egs_policy_why(s.p, 3, 1, &why);
	is_int(why.rule, EGS_RULE_BORROW_LIMIT,
	       "a job that would exceed Borrow= has the rule BORROW_LIMIT");
	is_int(why.limit, 2, "Borrow=25%% of 8 GPUs is a limit of 2");
	story_end(&s);
}

static void hours(void)
{
	struct egs_policy_conf *c = story_conf();
	struct egs_why why;
	struct story s;

	c->team[RED].max_gpu_hours = (struct egs_rate){ 8, 86400 };
	s = story_with(c);
	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_tick(&s, 2 * HOUR - 1);
	ok(!story_row(&s, 1).on_loan, "under MaxGpuHours a job is owned");
	story_tick(&s, 2 * HOUR);
	ok(story_row(&s, 1).on_loan && story_row(&s, 1).over_limit,
	   "at 8 GPU-hours a job is on loan and preempted first");
	egs_policy_why(s.p, 1, s.now, &why);
	is_int(why.rule, EGS_RULE_OVER_LIMIT,
	       "a job over MaxGpuHours has the rule OVER_LIMIT");
	c->team[RED].limit_action = EGS_LIMIT_HOLD;
	story_submit(&s, 2 * HOUR, 2, RED, RESEARCH, 1);
	egs_policy_why(s.p, 2, s.now, &why);
	is_int(why.rule, EGS_RULE_GPU_HOURS,
	       "with LimitAction=hold a pending job over MaxGpuHours is "
	       "deferred");
	is_int(why.until, 86400,
	       "a job deferred by MaxGpuHours waits until the next day");
	is_int(egs_policy_job(s.p, 2)->site_factor, -10000,
	       "a pending job over a limit has the lowest site factor");
	story_tick(&s, 86400);
	ok(!story_row(&s, 1).on_loan,
	   "a job is owned again in the next period of MaxGpuHours");
	story_end(&s);
}

static void floors(void)
{
	struct egs_policy_conf *c = story_conf();
	struct egs_workload *w = egs_conf_add_workload(c, "fraud");
	struct egs_event ev;
	struct story s;

	w->team = RED;
	w->floor[STORY_GPU] = 2;
	s = story_with(c);
	for (uint32_t id = 1; id <= 2; id++) {
		ev = story_job(id, RED, RESEARCH, 2);
		ev.facts.workload = 0;
		story_step(&s, 0, &ev);
		story_start(&s, id, id, 0, 2);
	}
	story_submit(&s, 10, 3, BLUE, PROD, 2);
	story_tick(&s, 10 * STORY_MIN_RUNTIME);
	ok(!story_may_take(&s, 3, 1),
	   "a job that fills a floor may not be preempted");
	ok(story_may_take(&s, 3, 2), "a job above the floor may be preempted");
	story_end(&s);
}

/* The quota of the team is used up by a stronger job. */
static void a_floor_is_not_filled(void)
{
	struct egs_policy_conf *c = story_conf();
	struct egs_workload *w = egs_conf_add_workload(c, "fraud");
	struct egs_event ev = story_job(2, RED, RESEARCH, 2);
	struct story s;

	w->team = RED;
	w->floor[STORY_GPU] = 2;
	s = story_with(c);
	story_run(&s, 0, 1, RED, PROD, 0, c->team[RED].quota[STORY_GPU]);
	story_tick(&s, 10 * STORY_MIN_RUNTIME);
	story_step(&s, s.now, &ev);
	ok(story_row(&s, 2).on_loan,
	   "without a floor a pending job beyond the quota would be on loan");
	ev.facts.workload = 0;
	story_step(&s, s.now, &ev);
	ok(!story_row(&s, 2).on_loan,
	   "a pending job that lacks its floor would be owned");
	story_start(&s, s.now, 2, 1, 2);
	ok(!story_row(&s, 2).on_loan && story_row(&s, 1).on_loan,
	   "a job that fills its floor is owned when it runs");
	story_tell(&s, s.now, 1, EGS_EV_ENDED);
	story_run(&s, s.now, 4, RED, PROD, 0, 4);
	story_tick(&s, s.now + 10 * STORY_MIN_RUNTIME);
	ev = story_job(3, RED, RESEARCH, 4);
	ev.facts.workload = 0;
	story_step(&s, s.now, &ev);
	ok(story_row(&s, 3).on_loan,
	   "a pending job above the floor would be on loan");
	story_end(&s);
}

/* Apply a random history and collect its actions. */
static size_t replay(uint64_t seed, struct egs_action *out, size_t max)
{
	struct story s = story_new();
	const struct egs_action *a;
	size_t all = 0, n;

	for (egs_time_t t = 0; t < 3000; t++) {
		uint32_t id = 1 + random_below(&seed, 40);
		const struct egs_job *j = egs_policy_job(s.p, id);

		if (!j)
			story_submit(&s, t, id, (int)(id % 2), (int)(id % 3),
				     1 + id % 4);
		else if (!j->running)
			story_start(&s, t, id, id % 4, 1 + id % 4);
		else if (!random_below(&seed, 4))
			story_preempt(&s, t, id, 0);
		else
			story_tell(&s, t, id,
				   random_below(&seed, 4) ? EGS_EV_ENDED
							  : EGS_EV_REQUEUED);
		a = egs_policy_actions(s.p, &n);
		for (size_t i = 0; i < n && all < max; i++)
			out[all++] = a[i];
		if (all < max)
			out[all++] = (struct egs_action){
				.kind = EGS_ACT_NONE,
				.job.job_id = id,
				.team = story_row(&s, id).on_loan,
				.requester = s.rows_changed,
			};
	}
	story_end(&s);
	return all;
}

static bool same_action(const struct egs_action *a, const struct egs_action *b)
{
	return a->kind == b->kind && a->job.job_id == b->job.job_id &&
	       a->job.restarts == b->job.restarts && a->team == b->team &&
	       a->requester == b->requester;
}

static void same_history(void)
{
	static struct egs_action one[20000], two[20000];
	size_t n = replay(7, one, 20000), m = replay(7, two, 20000), i = 0;

	while (i < n && i < m && same_action(&one[i], &two[i]))
		i++;
	ok(n > 3000 && n == m && i == n,
	   "a history applied twice gives the same %zu actions", n);
}

static void a_phase_without_gpus(void)
{
	struct egs_policy_conf *c = story_conf();
	struct egs_event ev;
	struct story s;

	c->phase[0].gpus = (struct egs_range){ 0, 0 };
	s = story_with(c);
	story_run(&s, 0, 1, RED, SCAVENGE, 0, 4);
	story_submit(&s, 0, 2, RED, RESEARCH, 4);
	ok(story_may_take(&s, 2, 1), "a job that needs GPUs may preempt");
	ev = story_event(&s, 2, EGS_EV_PHASE);
	ev.facts.phase = 0;
	ev.facts.workload = -1;
	story_step(&s, 1, &ev);
	ok(!story_may_take(&s, 2, 1),
	   "a job in a phase without GPUs may not preempt");
	story_end(&s);
}

int main(void)
{
	plan_none();
	an_owner_gets_its_quota_back();
	a_victim_is_observed_once();
	tiers_inside_a_team();
	quota_left();
	max_gpus();
	scavengers();
	capacity_lost();
	lending();
	lent_gpus_add_up();
	no_team_lends_to_itself();
	hours();
	floors();
	a_floor_is_not_filled();
	same_history();
	a_phase_without_gpus();
	return done_testing();
}
