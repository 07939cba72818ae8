/* policy_idle.c - idle GPUs of a job go to a job that waits
 *
 * Red runs job 1 of four GPUs in phase train, with IdleWarn=15m and
 * IdleYield=30m.  Unmanaged jobs fill the other nodes.  Job 9 waits for GPUs.
 */
#include "t/lib/unit/policy_fixture.h"
#include "t/lib/unit/random.h"
#include "t/lib/unit/tap.h"

enum { TRAIN = 1, WARN_S = 900, YIELD_S = 1800, MINUTE = 60 };

/* When the story begins: all jobs are past their MinRuntime. */
#define BEGIN INT64_C(10000)

static struct egs_policy_conf *idle_conf(void)
{
	struct egs_policy_conf *conf = story_conf();

	conf->live_resize = true;
	conf->phase[TRAIN].idle_warn_s = WARN_S;
	conf->phase[TRAIN].idle_yield_s = YIELD_S;
	conf->team[RED].quota[STORY_GPU] = 16;
	conf->team[BLUE].quota[STORY_GPU] = 0;
	return conf;
}

/* What differs in job 1. */
struct job_kind {
	uint32_t shrink_to, idle_ok_s;
	bool no_requeue;
};

/* Run job 1 and fill the other nodes. */
static struct story full_with(struct egs_policy_conf *conf,
			      struct job_kind kind)
{
	struct story s = story_with(conf);
	struct egs_event ev = story_job(1, RED, RESEARCH, 4);

	ev.facts.phase = TRAIN;
	ev.facts.shrink_to = kind.shrink_to;
	ev.facts.idle_ok_s = kind.idle_ok_s;
	ev.facts.can_requeue = !kind.no_requeue;
	story_step(&s, 0, &ev);
	story_start(&s, 0, 1, 0, 4);
	for (uint32_t id = 2; id <= 4; id++)
		story_run(&s, 0, id, -1, -1, id - 1, 4);
	story_tick(&s, BEGIN - 1);
	return s;
}

static struct story full(void)
{
	return full_with(idle_conf(), (struct job_kind){ .shrink_to = 0 });
}

/* GPUs of job 'id' on node 'node' are idle for these times; jobs 9 to 11 may
 * use the node.
 */
static void measure_job(struct story *s, egs_time_t now, uint32_t id,
			uint32_t node, const uint32_t idle_s[4])
{
	static const uint32_t waiting[] = { 9, 10, 11 };
	struct egs_event ev = story_event(s, id, EGS_EV_IDLE);
	struct egs_gpu_idle idle[4];

	for (int i = 0; i < 4; i++)
		idle[i] = (struct egs_gpu_idle){ node, idle_s[i] };
	ev.idle = idle;
	ev.nidle = 4;
	ev.waiting = waiting;
	ev.nwaiting = 3;
	story_step(s, now, &ev);
}

/* Two GPUs of job 1 are busy, two idle for 'idle_s'. */
static void measure_two(struct story *s, egs_time_t now, uint32_t idle_s)
{
	measure_job(s, now, 1, 0, (uint32_t[]){ 0, 3, idle_s, idle_s + 5 });
}

static int count_idle_actions(const struct story *s)
{
	return s->seen[EGS_ACT_IDLE_WARN] + s->seen[EGS_ACT_IDLE_RECLAIM] +
	       s->seen[EGS_ACT_SHRINK] + s->seen[EGS_ACT_STALLED];
}

static void it_is_warned_and_yields(void)
{
	struct story s = full();
	const struct egs_action *a = &s.last[EGS_ACT_IDLE_WARN];

	story_submit(&s, BEGIN, 9, RED, RESEARCH, 2);
	measure_two(&s, BEGIN, WARN_S - 1);
	is_int(count_idle_actions(&s), 0,
	       "GPUs that are idle for less than IdleWarn cause nothing");
	measure_two(&s, BEGIN + 1, WARN_S);
	ok(s.seen[EGS_ACT_IDLE_WARN] == 1 && a->job.job_id == 1 &&
		   a->requester == 9 && a->idle.gpus == 2 &&
		   a->idle.idle_s == WARN_S,
	   "a job is warned for the job that waits, with the numbers");
	measure_two(&s, BEGIN + 2, WARN_S + 1);
	is_int(count_idle_actions(&s), 0, "a job is warned once");
	measure_two(&s, BEGIN + 900, YIELD_S - 1);
	is_int(count_idle_actions(&s), 0,
	       "a warned job is not asked before IdleYield");
	measure_two(&s, BEGIN + 901, YIELD_S);
	a = &s.last[EGS_ACT_IDLE_RECLAIM];
	ok(s.seen[EGS_ACT_IDLE_RECLAIM] == 1 && a->job.job_id == 1 &&
		   a->requester == 9 && a->idle.gpus == 2 &&
		   a->idle.idle_s == YIELD_S,
	   "a job that cannot shrink is to be preempted after IdleYield");
	measure_two(&s, BEGIN + 902, YIELD_S + 1);
	is_int(count_idle_actions(&s), 0, "a job is asked once");
	story_end(&s);
}

static void it_is_wanted_while_a_job_waits(void)
{
	struct story s = full();

	story_submit(&s, BEGIN, 9, RED, RESEARCH, 2);
	measure_two(&s, BEGIN, WARN_S);
	is_int(egs_policy_job(s.p, 1)->idle_wanted_by, 9,
	       "the job that waits for idle GPUs is known");
	story_tell(&s, BEGIN + 10, 9, EGS_EV_ENDED);
	measure_two(&s, BEGIN + 11, WARN_S + 11);
	is_int(egs_policy_job(s.p, 1)->idle_wanted_by, 0,
	       "idle GPUs are not wanted once the job that waited is gone");
	story_end(&s);
}

/* Node 1 is free, but of another partition. */
static void it_gains_in_its_partition(void)
{
	static const uint64_t only_node_0[] = { 1 };
	struct story s = full();

	story_tell(&s, BEGIN, 2, EGS_EV_ENDED);
	story_submit(&s, BEGIN, 9, RED, RESEARCH, 2);
	measure_two(&s, BEGIN, WARN_S);
	is_int(count_idle_actions(&s), 0,
	       "nothing happens for a job that fits elsewhere");
	egs_policy_set_usable(s.p, 9, only_node_0, 4);
	measure_two(&s, BEGIN + 1, WARN_S + 1);
	is_int(s.seen[EGS_ACT_IDLE_WARN], 1,
	       "free GPUs of other partitions do not count as elsewhere");
	measure_two(&s, BEGIN + 900, YIELD_S);
	is_int(count_idle_actions(&s), 0,
	       "which nodes a job may use is known until the next update");
	story_end(&s);
}

static void it_has_time_to_react(void)
{
	struct story s = full();

	measure_two(&s, BEGIN, 2 * YIELD_S);
	is_int(count_idle_actions(&s), 0,
	       "nothing happens to an idle job while no job waits");
	story_submit(&s, BEGIN + 1, 9, RED, RESEARCH, 2);
	measure_two(&s, BEGIN + 2, 2 * YIELD_S);
	is_int(s.seen[EGS_ACT_IDLE_WARN], 1,
	       "a job that is idle for long is warned first");
	measure_two(&s, BEGIN + 61, 2 * YIELD_S);
	is_int(count_idle_actions(&s), 0, "a warned job has a minute to react");
	measure_two(&s, BEGIN + 62, 2 * YIELD_S);
	is_int(s.seen[EGS_ACT_IDLE_RECLAIM], 1,
	       "a job that does not react is asked after a minute");
	story_end(&s);
}

static void it_was_only_observed(void)
{
	struct story s = full();

	egs_policy_set_team_observed(s.p, RED, true);
	story_submit(&s, BEGIN, 9, RED, RESEARCH, 2);
	measure_two(&s, BEGIN, YIELD_S);
	is_int(s.seen[EGS_ACT_IDLE_WARN], 1, "a warning is observed");
	egs_policy_set_team_observed(s.p, RED, false);
	measure_two(&s, BEGIN + MINUTE, YIELD_S);
	ok(s.seen[EGS_ACT_IDLE_WARN] == 1 && !s.seen[EGS_ACT_IDLE_RECLAIM],
	   "a job whose warning was only observed is warned again");
	measure_two(&s, BEGIN + MINUTE + 1, YIELD_S);
	is_int(count_idle_actions(&s), 0, "a second warning is sent once");
	measure_two(&s, BEGIN + 2 * MINUTE, YIELD_S);
	is_int(s.seen[EGS_ACT_IDLE_RECLAIM], 1,
	       "a job that was warned in enforce mode is asked");
	story_end(&s);
}

static void it_shrinks(void)
{
	struct story s =
		full_with(idle_conf(), (struct job_kind){ .shrink_to = 1 });
	const struct egs_action *a = &s.last[EGS_ACT_SHRINK];

	story_submit(&s, BEGIN, 9, RED, RESEARCH, 2);
	measure_two(&s, BEGIN, YIELD_S);
	measure_two(&s, BEGIN + MINUTE, YIELD_S);
	ok(s.seen[EGS_ACT_SHRINK] == 1 && a->job.job_id == 1 &&
		   a->preempt.gpus == 2 && a->requester == 9 &&
		   a->idle.gpus == 2,
	   "a job that can shrink is asked to keep its busy GPUs");
	story_tick(&s, BEGIN + MINUTE + 120);
	measure_two(&s, BEGIN + MINUTE + 121, YIELD_S);
	is_int(s.seen[EGS_ACT_IDLE_RECLAIM], 1,
	       "a job that does not shrink in time is to be preempted");
	story_end(&s);

	s = full_with(idle_conf(), (struct job_kind){ .shrink_to = 1 });
	story_submit(&s, BEGIN, 9, BLUE, SCAVENGE, 2);
	measure_two(&s, BEGIN, YIELD_S);
	measure_two(&s, BEGIN + MINUTE, YIELD_S);
	is_int(s.seen[EGS_ACT_SHRINK], 1,
	       "a job shrinks by idle GPUs also for a weaker job");
	story_end(&s);
}

/* Ask about job 1 with GPUs that are idle for long, and count the actions. */
static int ask_long(struct story *s, const uint32_t idle_s[4])
{
	int n = 0;

	measure_job(s, BEGIN + 1, 1, 0, idle_s);
	n += count_idle_actions(s);
	measure_job(s, BEGIN + 1 + MINUTE, 1, 0, idle_s);
	return n + count_idle_actions(s);
}

static const uint32_t two_idle[4] = { 0, 0, 2 * YIELD_S, 2 * YIELD_S };

static void nobody_gains(void)
{
	struct story s = full();

	story_submit(&s, BEGIN, 9, RED, RESEARCH, 3);
	is_int(ask_long(&s, two_idle), 0,
	       "no job is disturbed for one that does not fit on the idle "
	       "GPUs");
	story_end(&s);

	s = full();
	story_submit(&s, BEGIN, 8, RED, RESEARCH, 2);
	is_int(ask_long(&s, two_idle), 0,
	       "no job is disturbed for one that may not use its nodes");
	story_end(&s);

	s = full();
	story_submit(&s, BEGIN, 9, BLUE, SCAVENGE, 2);
	is_int(ask_long(&s, two_idle), 0,
	       "no job yields to one from which it would take the GPUs back");
	story_end(&s);

	s = full();
	story_tell(&s, BEGIN, 4, EGS_EV_ENDED);
	story_submit(&s, BEGIN, 9, RED, RESEARCH, 2);
	is_int(ask_long(&s, two_idle), 0,
	       "no job is disturbed for one that fits elsewhere");
	story_end(&s);

	s = full();
	story_submit(&s, BEGIN, 9, RED, PROD, 2);
	ok(story_may_take(&s, 9, 1), "job 9 may take GPUs by its tier");
	is_int(ask_long(&s, two_idle), 0,
	       "no job is warned for one that preempts by the usual rules");
	story_end(&s);

	s = full();
	story_submit(&s, BEGIN, 9, RED, RESEARCH, 2);
	is_int(ask_long(&s, (uint32_t[]){ 0, 0, 0, 2 * YIELD_S }), 0,
	       "a GPU that is busy, or not known, is not taken");
	story_end(&s);
}

static void what_protects_a_job(void)
{
	struct egs_policy_conf *conf;
	struct story s =
		full_with(idle_conf(), (struct job_kind){ .no_requeue = true });

	story_submit(&s, BEGIN, 9, RED, RESEARCH, 2);
	is_int(ask_long(&s, two_idle), 0,
	       "a job that cannot be requeued is not cancelled for idle GPUs");
	story_end(&s);

	conf = idle_conf();
	conf->tier[RESEARCH].yields = false;
	s = full_with(conf, (struct job_kind){ .shrink_to = 0 });
	story_submit(&s, BEGIN, 9, RED, RESEARCH, 2);
	is_int(ask_long(&s, two_idle), 0,
	       "Yields=no protects idle GPUs within quota");
	story_end(&s);

	conf = idle_conf();
	conf->tier[RESEARCH].min_runtime_s = BEGIN + 1000;
	s = full_with(conf, (struct job_kind){ .shrink_to = 0 });
	story_submit(&s, BEGIN, 9, RED, RESEARCH, 2);
	is_int(ask_long(&s, two_idle), 0, "MinRuntime protects idle GPUs");
	story_end(&s);

	conf = idle_conf();
	conf->phase[TRAIN].idle_yield_s = EGS_UNLIMITED;
	s = full_with(conf, (struct job_kind){ .shrink_to = 0 });
	story_submit(&s, BEGIN, 9, RED, RESEARCH, 2);
	is_int(ask_long(&s, two_idle), 1,
	       "with IdleYield=never a job is only warned");
	story_end(&s);

	s = full_with(idle_conf(),
		      (struct job_kind){ .idle_ok_s = 2 * YIELD_S + 1 });
	story_submit(&s, BEGIN, 9, RED, RESEARCH, 2);
	is_int(ask_long(&s, two_idle), 0, "GPUs within idle-ok are not idle");
	is_int(ask_long(&s,
			(uint32_t[]){ 0, 0, 2 * YIELD_S + 1, 2 * YIELD_S + 1 }),
	       1, "GPUs beyond idle-ok are idle");
	story_end(&s);

	s = full_with(story_conf(), (struct job_kind){ .shrink_to = 0 });
	story_submit(&s, BEGIN, 9, RED, RESEARCH, 2);
	is_int(ask_long(&s, two_idle), 0,
	       "nothing happens without IdleWarn and IdleYield");
	story_end(&s);
}

static void busy_again(void)
{
	struct story s = full();

	story_submit(&s, BEGIN, 9, RED, RESEARCH, 2);
	measure_two(&s, BEGIN, WARN_S);
	measure_two(&s, BEGIN + 100, 10);
	measure_two(&s, BEGIN + 2000, YIELD_S);
	ok(s.seen[EGS_ACT_IDLE_WARN] == 1 && !s.seen[EGS_ACT_IDLE_RECLAIM],
	   "a job that was busy since its warning is warned again");
	measure_two(&s, BEGIN + 2001, 0);
	story_tick(&s, BEGIN + 9000);
	is_int(count_idle_actions(&s), 0,
	       "without a new measurement no job is asked");
	story_end(&s);
}

/* The daemon preempts as the policy wants; the job comes back. */
static void it_comes_back(void)
{
	struct story s = full();
	struct egs_event ev;

	story_submit(&s, BEGIN, 9, RED, RESEARCH, 2);
	ask_long(&s, two_idle);
	ev = story_event(&s, 1, EGS_EV_PREEMPTING);
	ev.notify_job = true;
	ev.requester = 9;
	story_step(&s, BEGIN + 70, &ev);
	is_int(s.seen[EGS_ACT_RECORD_REQUEST], 1,
	       "a job that is preempted for idle GPUs gets a notice");
	measure_two(&s, BEGIN + 140, 2 * YIELD_S);
	is_int(count_idle_actions(&s), 0,
	       "a job is not asked while it is preempted");
	story_tell(&s, BEGIN + 150, 1, EGS_EV_REQUEUED);
	is_int(s.seen[EGS_ACT_RELEASE], 0,
	       "a job that yielded waits until the other one has started");
	story_start(&s, BEGIN + 160, 9, 0, 2);
	is_int(s.seen[EGS_ACT_RELEASE], 1,
	       "a job that yielded is released when the other one runs");
	ok(!story_may_take(&s, 1, 9),
	   "a job that yielded does not take the GPUs back");
	story_tell(&s, BEGIN + 200, 9, EGS_EV_ENDED);
	story_start(&s, BEGIN + 210, 1, 0, 4);
	story_submit(&s, BEGIN + 211, 10, RED, RESEARCH, 2);
	measure_two(&s, BEGIN + 220, 10);
	is_int(count_idle_actions(&s), 0,
	       "a job that came back is not asked before IdleYield has passed");
	story_end(&s);
}

/* Job 1 and 2 are idle: the one that can shrink is asked, and only one. */
static void one_job_is_enough(void)
{
	struct story s = full();
	struct egs_event ev = story_event(&s, 2, EGS_EV_UPDATED);
	int first;

	ev.facts = egs_policy_job(s.p, 2)->facts;
	ev.facts.team = RED;
	ev.facts.tier = RESEARCH;
	ev.facts.phase = TRAIN;
	ev.facts.shrink_to = 1;
	story_step(&s, BEGIN - 1, &ev);
	story_submit(&s, BEGIN, 9, RED, RESEARCH, 2);
	measure_job(&s, BEGIN, 2, 1, two_idle);
	measure_job(&s, BEGIN, 1, 0, two_idle);
	measure_job(&s, BEGIN + MINUTE, 2, 1, two_idle);
	first = s.seen[EGS_ACT_SHRINK];
	measure_job(&s, BEGIN + MINUTE, 1, 0, two_idle);
	is_int(first + count_idle_actions(&s), 1,
	       "for one job that waits, one job gives up GPUs");
	story_end(&s);
}

static void it_stalls(void)
{
	static const uint32_t all_idle[4] = { 700, 600, 800, 900 };
	struct egs_policy_conf *conf = idle_conf();
	struct story s;

	conf->phase[TRAIN].stall_after_s = 600;
	s = full_with(conf, (struct job_kind){ .shrink_to = 0 });
	measure_two(&s, BEGIN, 700);
	is_int(s.seen[EGS_ACT_STALLED], 0,
	       "a job with a busy GPU is not stalled");
	story_tell(&s, BEGIN, 1, EGS_EV_PROGRESS);
	measure_job(&s, BEGIN + 599, 1, 0, all_idle);
	is_int(s.seen[EGS_ACT_STALLED], 0,
	       "a job that reports progress is not stalled");
	measure_job(&s, BEGIN + 600, 1, 0, all_idle);
	ok(s.seen[EGS_ACT_STALLED] == 1 &&
		   s.last[EGS_ACT_STALLED].idle.gpus == 4 &&
		   s.last[EGS_ACT_STALLED].idle.idle_s == 600,
	   "a job without work and progress for StallAfter is stalled");
	measure_job(&s, BEGIN + 700, 1, 0, all_idle);
	is_int(count_idle_actions(&s), 0, "a stalled job is noted once");
	ok(egs_policy_job(s.p, 1)->stalled && !s.seen[EGS_ACT_REQUEUE] &&
		   !s.seen[EGS_ACT_CANCEL],
	   "a stalled job runs on");
	measure_two(&s, BEGIN + 800, 10);
	ok(!egs_policy_job(s.p, 1)->stalled, "a busy job is no longer stalled");
	story_end(&s);
}

/* Random histories: a job is asked only if another one waits, fits with the
 * idle GPUs, and was warned before.
 */
static void random_histories(void)
{
	int asked = 0, wrong = 0;

	for (uint32_t seed = 1; seed <= 300; seed++) {
		uint64_t r = seed;
		struct story s = full();
		uint32_t idle[4] = { 0 }, wants = 1 + random_below(&r, 4);
		egs_time_t warned = 0;

		story_submit(&s, BEGIN, 9, RED, RESEARCH, wants);
		for (int step = 1; step < 80; step++) {
			uint32_t free = 0;

			for (int i = 0; i < 4; i++) {
				idle[i] =
					random_below(&r, 40) ? idle[i] + 60 : 0;
				free += idle[i] >= YIELD_S;
			}
			measure_job(&s, BEGIN + step * 60, 1, 0, idle);
			if (s.seen[EGS_ACT_IDLE_WARN])
				warned = s.now;
			if (!s.seen[EGS_ACT_IDLE_RECLAIM])
				continue;
			asked++;
			wrong += free < wants || !warned ||
				 s.now < warned + MINUTE;
			break;
		}
		story_end(&s);
	}
	ok(asked > 20, "random histories ask some jobs: %d", asked);
	is_int(wrong, 0, "no job is asked when nobody gains, or unwarned");
}

int main(void)
{
	plan_none();
	it_is_warned_and_yields();
	it_is_wanted_while_a_job_waits();
	it_gains_in_its_partition();
	it_has_time_to_react();
	it_was_only_observed();
	it_shrinks();
	nobody_gains();
	what_protects_a_job();
	busy_again();
	it_comes_back();
	one_job_is_enough();
	it_stalls();
	random_histories();
	return done_testing();
}
