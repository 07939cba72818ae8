/* policy_why.c - every verdict is one sentence with its numbers */
#include "t/lib/unit/policy_fixture.h"
#include "t/lib/unit/tap.h"

static void says(struct story *s, uint32_t id, const char *want)
{
	struct egs_why why;
	char got[256] = "";

	if (egs_policy_why(s->p, id, s->now, &why) == 0)
		egs_why_format(&why, s->conf, s->now, got, sizeof(got));
	is_str(got, want, "%s", want);
}

static void running(void)
{
	struct story s = story_new();
	struct egs_event ev;

	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_run(&s, 1, 2, RED, RESEARCH, 1, 4);
	story_run(&s, 2, 3, RED, RESEARCH, 2, 4);
	story_run(&s, 3, 4, RED, -1, 3, 1);
	says(&s, 1,
	     "job 1 runs on 4 h100 inside the quota of red: 8 of 8 owned, "
	     "4 on loan");
	says(&s, 3,
	     "job 3 runs on 4 h100 on loan: of its quota of 8 red owns 8, "
	     "and 4 are on loan");
	says(&s, 4, "job 4 is not managed: Slurm alone decides");
	ev = story_event(&s, 3, EGS_EV_PREEMPTING);
	ev.requester = 9;
	story_step(&s, 10, &ev);
	story_tick(&s, 30);
	says(&s, 3,
	     "job 3 was asked to save and leave 4 h100 to job 9, "
	     "100 s to its deadline");
	ev = story_event(&s, 2, EGS_EV_PREEMPTING);
	ev.notify_job = true;
	story_step(&s, 30, &ev);
	says(&s, 2,
	     "job 2 was asked to save and leave 4 h100, 120 s to its "
	     "deadline");
	story_end(&s);
}

static void pending(void)
{
	struct story s = story_new();

	story_submit(&s, 0, 1, RED, RESEARCH, 4);
	says(&s, 1,
	     "job 1 wants 4 h100, owned, and nothing of EGS is in its way: "
	     "red owns 0 of 8");
	for (uint32_t i = 0; i < 4; i++)
		story_run(&s, 1, 10 + i, BLUE, RESEARCH, i, 4);
	says(&s, 1,
	     "job 1 wants 4 h100, owned, and 1 job(s) have to leave first, "
	     "among them job 12");
	story_submit(&s, 2, 2, BLUE, RESEARCH, 4);
	says(&s, 2,
	     "job 2 wants 4 h100, on loan: 0 of 16 are free, the others with "
	     "jobs it may not take from, the most (4) with job 10; blue owns 8 "
	     "of 8");
	story_submit(&s, 3, 3, BLUE, PROD, 4);
	says(&s, 3,
	     "job 3 wants 4 h100, on loan: job 12 could make room but is "
	     "protected for another 898 s");
	story_end(&s);
}

/* Free GPUs that are of no use, and nodes that are down. */
static void no_room(void)
{
	struct story s = story_new();
	struct egs_event ev;

	story_run(&s, 0, 1, RED, RESEARCH, 0, 2);
	story_run(&s, 0, 2, RED, RESEARCH, 1, 3);
	story_run(&s, 0, 3, BLUE, RESEARCH, 2, 4);
	story_run(&s, 0, 4, BLUE, RESEARCH, 3, 3);
	story_submit(&s, 1, 5, RED, RESEARCH, 3);
	says(&s, 5,
	     "job 5 wants 3 h100, owned: 4 of 16 are free, but not on nodes "
	     "as it wants them; red owns 5 of 8");
	story_end(&s);

	s = story_new();
	story_node(&s, 0, 2, false);
	story_submit(&s, 0, 6, RED, RESEARCH, 16);
	says(&s, 6,
	     "job 6 wants 16 h100, on loan, and 12 are up; red owns 0 of 6");
	for (uint32_t i = 0; i < 4; i++)
		if (i != 2)
			story_run(&s, 1, 10 + i, RED, RESEARCH, i, 4);
	ev = story_job(7, RED, RESEARCH, 4);
	ev.facts.need.type = EGS_TYPE_ANY;
	story_step(&s, 2, &ev);
	says(&s, 7,
	     "job 7 wants 4 h100, on loan: 0 of 12 are free, the others with "
	     "jobs it may not take from, the most (4) with job 10; red owns 4 "
	     "of 6");
	story_end(&s);
}

static void held(void)
{
	struct egs_policy_conf *c = story_conf();
	struct story s;

	c->team[RED].max_gpus[STORY_GPU] = 6;
	c->team[RED].limit_action = EGS_LIMIT_HOLD;
	c->tier[PROD].loan = EGS_LOAN_NEVER;
	s = story_with(c);
	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_submit(&s, 0, 2, RED, RESEARCH, 4);
	says(&s, 2,
	     "job 2 wants 4 h100, but red may use 6: it owns 4 and has 0 on "
	     "loan");
	story_run(&s, 0, 3, BLUE, PROD, 1, 4);
	story_run(&s, 0, 4, BLUE, PROD, 2, 4);
	story_submit(&s, 0, 5, BLUE, PROD, 1);
	says(&s, 5,
	     "job 5 wants 1 h100: its tier does not borrow, and blue owns 8 "
	     "of 8");
	story_end(&s);
}

static void bounds(void)
{
	struct story s = story_new();
	struct egs_why why;
	char small[10];

	story_submit(&s, 0, 1, RED, -1, 4);
	egs_policy_why(s.p, 1, 0, &why);
	is_int(egs_why_format(&why, s.conf, 0, small, sizeof(small)), 41,
	       "a short buffer is told the length");
	is_str(small, "job 1 is ", "and gets what fits");
	is_int(egs_policy_why(s.p, 2, 0, &why), -1, "of a stranger nothing");
	story_end(&s);
}

int main(void)
{
	plan_none();
	running();
	pending();
	no_room();
	held();
	bounds();
	return done_testing();
}
