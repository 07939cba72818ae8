/* policy_limits.c - MaxGpus of jobs with several types, several components, or
 * whole nodes
 */
#include "t/lib/unit/policy_fixture.h"
#include "t/lib/unit/tap.h"

enum { H100, A100 };

/* Team red may have 4 GPUs of each type. */
static struct story story_of_types(void)
{
	struct egs_policy_conf *c = story_conf();

	egs_conf_add_type(c, "a100");
	c->team[RED].quota[H100] = 4;
	c->team[RED].quota[A100] = 4;
	c->team[RED].max_gpus[H100] = 4;
	c->team[RED].max_gpus[A100] = 4;
	return story_with(c);
}

/* A job with this many GPUs of both types. */
static struct egs_event mixed_job(uint32_t id, uint16_t h100, uint16_t a100)
{
	struct egs_event ev = story_job(id, RED, RESEARCH, h100 + a100);

	ev.facts.by_type[H100] = h100;
	ev.facts.by_type[A100] = a100;
	ev.facts.need.type = EGS_TYPE_ANY;
	return ev;
}

static bool is_deferred(const struct story *s, uint32_t id)
{
	return story_row(s, id).over_limit_pending;
}

static void several_types(void)
{
	struct story s = story_of_types();
	struct egs_event ev = mixed_job(1, 2, 4);
	struct egs_why why;

	story_step(&s, 1, &ev);
	ok(!is_deferred(&s, 1), "a job of two types fits under both limits");
	is_int(story_row(&s, 1).gpus, 6,
	       "a job of two types counts with all its GPUs");
	is_int(story_row(&s, 1).room, 0,
	       "the limit of each type leaves room for a job of two types");
	story_start(&s, 2, 1, 0, 6);
	is_int(egs_policy_quota_use(s.p, RED, H100).owned, 2,
	       "a running job of two types has an entry for its first type");
	is_int(egs_policy_quota_use(s.p, RED, A100).unmanaged, 4,
	       "GPUs of another type count in the book of that type");
	story_submit(&s, 3, 2, RED, RESEARCH, 2);
	ok(!is_deferred(&s, 2), "the first type has room beside a job of two");
	ev = story_job(3, RED, RESEARCH, 1);
	ev.facts.need.type = A100;
	story_step(&s, 3, &ev);
	ok(is_deferred(&s, 3), "the second type of a running job counts");
	ev = mixed_job(4, 2, 1);
	story_step(&s, 3, &ev);
	ok(is_deferred(&s, 4),
	   "a job of two types waits for the limit of its second type");
	egs_policy_why(s.p, 4, 3, &why);
	ok(why.rule == EGS_RULE_MAX_GPUS && why.type == A100 && why.gpus == 1,
	   "egs why names the type that is over its limit");
	story_tell(&s, 4, 1, EGS_EV_ENDED);
	ok(!is_deferred(&s, 3) && !is_deferred(&s, 4) &&
		   !egs_policy_quota_use(s.p, RED, A100).unmanaged,
	   "a job of two types releases both when it ends");
	story_end(&s);
}

/* A new configuration swaps the order of the types. */
static void types_after_a_reload(void)
{
	struct story s = story_of_types();
	struct egs_event ev = mixed_job(1, 2, 4);
	struct egs_policy_conf *old = s.conf;

	story_step(&s, 1, &ev);
	story_start(&s, 2, 1, 0, 6);
	s.conf = egs_policy_conf_new();
	egs_conf_add_type(s.conf, "a100");
	egs_conf_add_type(s.conf, "h100");
	egs_conf_add_tier(s.conf, "prod");
	egs_conf_add_tier(s.conf, "research");
	egs_conf_add_team(s.conf, "red");
	ev = (struct egs_event){ .kind = EGS_EV_CONF, .conf = s.conf };
	story_step(&s, 3, &ev);
	is_int(egs_policy_quota_use(s.p, 0, 0).unmanaged, 4,
	       "GPUs of a second type have their new number after a reload");
	is_int(egs_policy_quota_use(s.p, 0, 1).owned, 2,
	       "GPUs of the first type have their new number after a reload");
	story_tell(&s, 4, 1, EGS_EV_ENDED);
	is_int(egs_policy_quota_use(s.p, 0, 0).unmanaged, 0,
	       "GPUs of a second type are released after a reload");
	egs_policy_conf_free(old);
	story_end(&s);
}

static struct egs_event component(uint32_t id, uint32_t het_job, int team,
				  uint32_t gpus)
{
	struct egs_event ev = story_job(id, team, RESEARCH, gpus);

	ev.facts.het_job = het_job;
	return ev;
}

static void components(void)
{
	struct story s = story_of_types();
	struct egs_event ev = component(10, 10, RED, 2);
	char text[256];
	struct egs_why why;

	story_step(&s, 1, &ev);
	ev = component(11, 10, RED, 3);
	story_step(&s, 1, &ev);
	ok(is_deferred(&s, 10) && is_deferred(&s, 11),
	   "all components wait if MaxGpus does not leave room for their sum");
	egs_policy_why(s.p, 10, 1, &why);
	egs_why_format(&why, s.conf, 1, text, sizeof(text));
	is_str(text,
	       "job 10: deferred: the components of its heterogeneous job need "
	       "5 h100 together; MaxGpus= of red allows 4 (0 in use within "
	       "quota, 0 on loan)",
	       "egs why tells that components exceed MaxGpus together");
	ev = component(11, 10, RED, 2);
	story_step(&s, 2, &ev);
	ok(!is_deferred(&s, 10) && !is_deferred(&s, 11),
	   "components start if MaxGpus leaves room for their sum");
	is_int(story_row(&s, 10).room, 0,
	       "the room of a component is beside all components");
	is_int(story_row(&s, 10).gpus, 2,
	       "the GPUs of a component are its own");
	story_start(&s, 3, 10, 0, 2);
	ok(!is_deferred(&s, 11),
	   "a component that has started does not count twice");
	ev = component(12, 12, RED, 1);
	story_step(&s, 4, &ev);
	ok(!is_deferred(&s, 11), "another het job is no component");
	story_end(&s);
}

static void other_components(void)
{
	struct story s = story_of_types();
	struct egs_event ev = component(10, 10, RED, 2);

	story_step(&s, 1, &ev);
	ev = component(11, 10, BLUE, 8);
	story_step(&s, 1, &ev);
	ok(!is_deferred(&s, 10),
	   "components of another team do not count for MaxGpus");
	ev = component(12, 10, RED, 5);
	ev.facts.need.type = A100;
	story_step(&s, 1, &ev);
	ok(is_deferred(&s, 10),
	   "a component waits if another type of the job is over its limit");
	story_end(&s);
}

/* Slurm gives an exclusive job all GPUs of its nodes. */
static void whole_nodes(void)
{
	struct story s = story_of_types();
	struct egs_event ev = story_job(1, RED, RESEARCH, 0);
	struct egs_take_view row;
	struct egs_why why;

	ev.facts.need.type = EGS_TYPE_ANY;
	ev.facts.by_type[H100] = 8;
	story_step(&s, 1, &ev);
	ok(is_deferred(&s, 1),
	   "an exclusive job without a GPU request waits for MaxGpus");
	egs_policy_why(s.p, 1, 1, &why);
	ok(why.rule == EGS_RULE_MAX_GPUS && why.gpus == 8,
	   "egs why names the GPUs of whole nodes that exceed MaxGpus");
	row = story_row(&s, 1);
	ok(!egs_take_needs_victims(&row),
	   "an exclusive job without a GPU request preempts no job");
	ev.facts.by_type[H100] = 4;
	story_step(&s, 2, &ev);
	ok(!is_deferred(&s, 1), "an exclusive job within MaxGpus starts");
	egs_policy_why(s.p, 1, 2, &why);
	is_int(why.rule, EGS_RULE_NO_GPUS,
	       "EGS does not hold an exclusive job within MaxGpus");
	story_end(&s);
}

int main(void)
{
	plan_none();
	several_types();
	types_after_a_reload();
	components();
	other_components();
	whole_nodes();
	return done_testing();
}
