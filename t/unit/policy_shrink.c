/* policy_shrink.c - a job is asked to shrink before it is preempted */
#include "t/lib/unit/policy_fixture.h"
#include "t/lib/unit/tap.h"

static struct story shrinking(void)
{
	struct story s = story_new();

	s.conf->live_resize = true;
	return s;
}

/* A job on all GPUs of a node that can shrink to 'shrink_to'. */
static void run(struct story *s, egs_time_t now, uint32_t id, int tier,
		uint32_t node, uint32_t shrink_to)
{
	struct egs_event ev = story_job(id, RED, tier, 4);

	ev.facts.shrink_to = shrink_to;
	story_step(s, now, &ev);
	story_start(s, now, id, node, 4);
}

/* All four nodes are full: one with job 1, the others with jobs of prod. */
static struct story full(uint32_t shrink_to)
{
	struct story s = shrinking();

	run(&s, 0, 1, SCAVENGE, 0, shrink_to);
	for (uint32_t id = 2; id <= 4; id++)
		story_run(&s, 0, id, RED, PROD, id - 1, 4);
	return s;
}

static void suspend(struct story *s, egs_time_t now, uint32_t id)
{
	struct egs_event ev = story_event(s, id, EGS_EV_UPDATED);

	ev.facts = egs_policy_job(s->p, id)->facts;
	ev.facts.suspended = true;
	story_step(s, now, &ev);
}

static bool asked(const struct story *s, uint32_t id, uint32_t keep,
		  uint32_t by)
{
	const struct egs_action *a = &s->last[EGS_ACT_SHRINK];

	return s->seen[EGS_ACT_SHRINK] == 1 && a->job.job_id == id &&
	       a->preempt.gpus == keep && a->requester == by;
}

static void it_shrinks(void)
{
	struct story s = full(1);

	story_submit(&s, 100, 9, BLUE, RESEARCH, 2);
	ok(asked(&s, 1, 2, 9),
	   "a job is asked to shrink by as many GPUs as are needed");
	is_int(s.last[EGS_ACT_SHRINK].preempt.deadline, 100 + 120,
	       "a job that is asked to shrink has its grace period to answer");
	ok(!story_may_take(&s, 9, 1),
	   "while a job is asked to shrink, the requester preempts no job");
	story_tick(&s, 101);
	is_int(s.seen[EGS_ACT_SHRINK], 0, "a job is asked to shrink once");
	story_start(&s, 110, 1, 0, 2);
	story_tell(&s, 110, 1, EGS_EV_SHRINK_ANSWERED);
	story_start(&s, 111, 9, 0, 2);
	is_int(egs_policy_job(s.p, 1)->shrink_for, 0,
	       "an answer ends the request to shrink");
	story_submit(&s, 120, 10, BLUE, RESEARCH, 1);
	ok(asked(&s, 1, 1, 10),
	   "a job that has shrunk may be asked to shrink again");
	story_end(&s);
}

static void it_does_not_answer(void)
{
	struct story s = full(1);

	story_submit(&s, 100, 9, BLUE, RESEARCH, 2);
	story_tick(&s, 100 + 119);
	ok(!story_may_take(&s, 9, 1), "one second before the deadline the "
				      "requester still preempts no job");
	story_tick(&s, 100 + 120);
	ok(story_may_take(&s, 9, 1),
	   "a job that does not answer in time can be preempted");
	ok(s.rows_changed, "rows are published when a shrink request ends");
	story_tick(&s, 400);
	is_int(s.seen[EGS_ACT_SHRINK], 0,
	       "a job that did not answer is not asked again in the same run");
	story_tell(&s, 410, 1, EGS_EV_REQUEUED);
	story_start(&s, 420, 1, 0, 4);
	ok(asked(&s, 1, 2, 9),
	   "a job that did not answer is asked again in its next run");
	story_end(&s);
}

static void it_keeps_more(void)
{
	struct story s = full(1);

	story_submit(&s, 100, 9, BLUE, RESEARCH, 2);
	story_start(&s, 110, 1, 0, 3);
	story_tell(&s, 110, 1, EGS_EV_SHRINK_ANSWERED);
	ok(story_may_take(&s, 9, 1),
	   "a job that keeps too many GPUs can be preempted");
	is_int(s.seen[EGS_ACT_SHRINK], 0,
	       "a job that keeps too many GPUs is not asked again");
	story_end(&s);
}

static void no_job_is_asked(void)
{
	struct story s = full(3);

	story_submit(&s, 100, 9, BLUE, RESEARCH, 2);
	is_int(s.seen[EGS_ACT_SHRINK], 0,
	       "a job is not asked to go below its shrink-to");
	ok(story_may_take(&s, 9, 1),
	   "a job that cannot shrink enough can be preempted");
	story_end(&s);

	s = full(0);
	story_submit(&s, 100, 9, BLUE, RESEARCH, 2);
	is_int(s.seen[EGS_ACT_SHRINK], 0,
	       "a job without shrink-to is not asked to shrink");
	story_end(&s);

	s = full(1);
	s.conf->live_resize = false;
	story_submit(&s, 100, 9, BLUE, RESEARCH, 2);
	is_int(s.seen[EGS_ACT_SHRINK], 0,
	       "with LiveResize=no a job is not asked to shrink");
	story_end(&s);

	s = full(1);
	story_submit(&s, 100, 9, RED, SCAVENGE, 2);
	is_int(s.seen[EGS_ACT_SHRINK], 0,
	       "a job is not asked to shrink for one that may not preempt it");
	story_end(&s);

	s = shrinking();
	run(&s, 0, 1, SCAVENGE, 0, 1);
	story_submit(&s, 100, 9, BLUE, RESEARCH, 2);
	is_int(s.seen[EGS_ACT_SHRINK], 0,
	       "a job is not asked to shrink for one that fits elsewhere");
	story_end(&s);

	s = full(1);
	suspend(&s, 90, 1);
	story_submit(&s, 100, 9, BLUE, RESEARCH, 2);
	is_int(s.seen[EGS_ACT_SHRINK], 0,
	       "a suspended job is not asked to shrink");
	story_end(&s);
}

static void the_requester_ends(void)
{
	struct story s = full(1);

	story_submit(&s, 100, 9, BLUE, RESEARCH, 2);
	story_tell(&s, 105, 9, EGS_EV_ENDED);
	is_int(egs_policy_job(s.p, 1)->shrink_for, 0,
	       "a request to shrink ends when the requester ends");
	story_submit(&s, 110, 10, BLUE, RESEARCH, 2);
	ok(asked(&s, 1, 2, 10),
	   "a request that ended with its requester is no refusal");
	story_tell(&s, 115, 1, EGS_EV_ENDED);
	ok(!story_row(&s, 10).waiting_for_shrink,
	   "a requester does not wait for a job that has ended");
	story_end(&s);
}

/* Slurm would preempt the job in the second in which its protection ends. */
static void it_is_asked_in_time(void)
{
	struct story s = shrinking();

	s.conf->team[RED].quota[STORY_GPU] = 12;
	s.conf->team[BLUE].quota[STORY_GPU] = 4;
	run(&s, 0, 1, RESEARCH, 0, 2);
	run(&s, 0, 2, RESEARCH, 1, 2);
	story_run(&s, 0, 3, RED, PROD, 2, 4);
	story_node(&s, 0, 3, false);
	story_submit(&s, 100, 9, BLUE, PROD, 2);
	is_int(s.seen[EGS_ACT_SHRINK], 0,
	       "a job within its MinRuntime is not asked to shrink");
	story_tick(&s, STORY_MIN_RUNTIME - 5);
	ok(asked(&s, 1, 2, 9),
	   "a job is asked to shrink shortly before its MinRuntime ends");
	story_tick(&s, STORY_MIN_RUNTIME + 1);
	ok(!story_may_take(&s, 9, 2),
	   "no other job is preempted while a job is asked to shrink");
	story_end(&s);
}

/* Node 0 has 2 h100 and 2 a100; the other nodes are down. */
static struct story mixed_node(void)
{
	struct egs_policy_conf *conf = story_conf();
	struct egs_event ev = { .kind = EGS_EV_NODE,
				.node_state = { .gpus = STORY_NODE_GPUS,
						.cores = 64,
						.mem_mb = 512000,
						.type = STORY_GPU,
						.mixed = true,
						.up = true } };
	struct story s;

	conf->live_resize = true;
	egs_conf_add_type(conf, "a100");
	s = story_with(conf);
	ev.node_state.by_type[STORY_GPU] = 2;
	ev.node_state.by_type[STORY_GPU + 1] = 2;
	story_step(&s, 0, &ev);
	for (uint32_t i = 1; i < STORY_NODES; i++)
		story_node(&s, 0, i, false);
	return s;
}

/* Start a job on 2 GPUs of 'type' that can shrink to one. */
static void run_on_type(struct story *s, uint32_t id, uint8_t type)
{
	const struct egs_node_alloc part = { .node = 0, .gpus = 2, .cores = 2 };
	struct egs_event ev = story_job(id, RED, SCAVENGE, 2);

	ev.facts.need.type = type;
	ev.facts.shrink_to = 1;
	story_step(s, 0, &ev);
	ev.kind = EGS_EV_STARTED;
	ev.type = type;
	ev.alloc = &part;
	ev.nallocs = 1;
	story_step(s, 0, &ev);
}

static void only_its_type_helps(void)
{
	struct story s = mixed_node();

	run_on_type(&s, 1, STORY_GPU + 1);
	story_run(&s, 0, 2, RED, PROD, 0, 2);
	story_submit(&s, 100, 9, BLUE, RESEARCH, 1);
	is_int(s.seen[EGS_ACT_SHRINK], 0,
	       "no job is asked to shrink by GPUs of another type");
	story_end(&s);

	s = mixed_node();
	run_on_type(&s, 1, STORY_GPU + 1);
	run_on_type(&s, 2, STORY_GPU);
	story_submit(&s, 100, 9, BLUE, RESEARCH, 1);
	ok(asked(&s, 2, 1, 9),
	   "a job with GPUs of the needed type is asked to shrink");
	story_end(&s);
}

int main(void)
{
	it_shrinks();
	it_does_not_answer();
	it_keeps_more();
	no_job_is_asked();
	the_requester_ends();
	it_is_asked_in_time();
	only_its_type_helps();
	return done_testing();
}
