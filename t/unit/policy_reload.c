/* policy_reload.c - a new configuration; the table of jobs */
#include "t/lib/unit/policy_fixture.h"
#include "t/lib/unit/random.h"
#include "t/lib/unit/tap.h"

static void load(struct story *s, egs_time_t now, struct egs_policy_conf *conf)
{
	struct egs_event ev = { .kind = EGS_EV_CONF, .conf = conf };

	story_step(s, now, &ev);
	egs_policy_conf_free(s->conf);
	s->conf = conf;
}

/* The same teams in another order, one more GPU type, one tier less. */
static struct egs_policy_conf *reordered_conf(void)
{
	struct egs_policy_conf *c = egs_policy_conf_new();

	c->mode = EGS_MODE_ENFORCE;
	egs_conf_add_type(c, "a100");
	egs_conf_add_type(c, "h100");
	egs_conf_add_tier(c, "research")->min_runtime_s = STORY_MIN_RUNTIME;
	egs_conf_add_tier(c, "prod")->min_runtime_s = STORY_MIN_RUNTIME;
	egs_conf_add_team(c, "blue")->quota[1] = 12;
	egs_conf_add_team(c, "red")->quota[1] = 4;
	return c;
}

static void jobs_keep_names(void)
{
	struct story s = story_new();
	uint64_t used;

	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_run(&s, 1, 2, RED, PROD, 1, 4);
	story_run(&s, 2, 3, BLUE, SCAVENGE, 2, 4);
	story_tick(&s, 10);
	egs_policy_recompute_all(s.p, 10);
	used = egs_policy_decayed_usage(s.p, RED);
	load(&s, 10, reordered_conf());
	is_int(egs_policy_job(s.p, 1)->facts.team, 1,
	       "a job keeps its team by name");
	is_int(egs_policy_job(s.p, 2)->facts.tier, 1,
	       "a job keeps its tier by name");
	is_int(egs_policy_job(s.p, 1)->type, 1,
	       "a job keeps its GPU type by name");
	is_int(egs_policy_job(s.p, 3)->facts.tier, -1,
	       "a job whose tier is gone is unmanaged");
	ok(egs_policy_decayed_usage(s.p, 1) == used,
	   "usage of a team is kept by name");
	is_int(egs_policy_quota_use(s.p, 1, 1).in_force, 4,
	       "quotas are those of the new configuration");
	ok(!story_row(&s, 1).on_loan && !story_row(&s, 2).on_loan,
	   "within MinRuntime a reload takes no job out of the quota");
	story_tick(&s, STORY_MIN_RUNTIME + 2);
	ok(!story_row(&s, 1).on_loan && story_row(&s, 2).on_loan,
	   "after MinRuntime the new order of tiers decides");
	story_tell(&s, 2000, 1, EGS_EV_ENDED);
	ok(!story_row(&s, 2).on_loan,
	   "after a reload a job on loan is owned when another job ends");
	story_tell(&s, 2001, 2, EGS_EV_ENDED);
	story_tell(&s, 2002, 3, EGS_EV_ENDED);
	is_int(egs_policy_quota_use(s.p, 0, 1).unmanaged +
		       egs_policy_quota_use(s.p, 1, 1).owned,
	       0,
	       "after a reload no GPUs are counted when all jobs have ended");
	story_end(&s);
}

static void actions_keep_names(void)
{
	struct egs_policy_conf *c = reordered_conf();
	struct egs_event conf = { .kind = EGS_EV_CONF, .conf = c };
	struct story s = story_new();
	struct egs_event ev;
	const struct egs_action *a;
	size_t n;

	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	ev = story_event(&s, 1, EGS_EV_PREEMPTING);
	story_step(&s, 1, &ev);
	egs_policy_clear_actions(s.p);
	ev = story_event(&s, 1, EGS_EV_YIELDED);
	ev.request_no = 1;
	egs_policy_apply(s.p, &ev, 2);
	egs_policy_apply(s.p, &conf, 3);
	a = egs_policy_actions(s.p, &n);
	ok(n > 0 && a[0].kind == EGS_ACT_REQUEUE && a[0].team == 1,
	   "an action that was not read yet keeps its team by name");
	egs_policy_conf_free(s.conf);
	s.conf = c;
	story_end(&s);
}

static void no_teams_left(void)
{
	struct egs_policy_conf *c = egs_policy_conf_new();
	struct story s = story_new();

	egs_conf_add_tier(c, "research");
	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	load(&s, 10, c);
	is_int(egs_policy_job(s.p, 1)->facts.team, -1,
	       "a job whose team is gone has no team");
	ok(!story_row(&s, 1).on_loan, "a job without a team is not on loan");
	load(&s, 20, story_conf());
	story_tell(&s, 30, 1, EGS_EV_ENDED);
	is_int(egs_policy_njobs(s.p), 0,
	       "a job without a team ends without error");
	story_end(&s);
}

#define IDS 500

static void table(void)
{
	static bool in[IDS];
	struct egs_jobs t = { 0 };
	uint64_t seed = 1;
	uint32_t n = 0, wrong = 0;

	for (int i = 0; i < 20000; i++) {
		uint32_t id = random_below(&seed, IDS);
		struct egs_job *j = egs_jobs_find(&t, 1 + id * 1024);

		wrong += (j != NULL) != in[id];
		if (in[id])
			egs_jobs_drop(&t, j);
		else
			egs_jobs_add(&t, 1 + id * 1024);
		in[id] = !in[id];
		n += in[id] ? 1 : -1u;
		wrong += t.ids.used != n;
	}
	is_int(wrong, 0,
	       "after 20000 random changes the table has exactly the expected "
	       "jobs");
	ok(t.ids.nslots <= IDS, "slots of dropped jobs are reused");
	ok(sizeof(struct egs_job) + sizeof(struct egs_loan_entry) +
			   sizeof(struct egs_node_alloc) +
			   4 * sizeof(uint32_t) <=
		   500,
	   "a job takes less than 500 bytes");
	egs_jobs_clear(&t);
}

int main(void)
{
	plan_none();
	jobs_keep_names();
	actions_keep_names();
	no_teams_left();
	table();
	return done_testing();
}
