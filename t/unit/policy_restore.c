/* policy_restore.c - the state of jobs and teams survives a restart */
#include "t/lib/unit/policy_fixture.h"
#include "t/lib/unit/tap.h"

#define DAY  INT64_C(86400)
#define JOB  1
#define ROOM (16 * EGS_MILLI_ONE)

static struct egs_job_history past_of(const struct story *s)
{
	struct egs_job_history past = { 0 };

	egs_policy_job_history(egs_policy_job(s->p, JOB), &past);
	return past;
}

/* The same job as a new policy sees it. */
static void see_again(struct story *s, egs_time_t now,
		      const struct egs_job_history *past, uint32_t restarts,
		      bool running)
{
	struct egs_event ev = story_job(JOB, RED, SCAVENGE, 4);
	struct egs_node_alloc part = { .node = 0, .gpus = 4, .cores = 4 };

	ev.history = past;
	ev.job.restarts = restarts;
	ev.started_unseen = true;
	story_step(s, now, &ev);
	if (!running)
		return;
	ev.kind = EGS_EV_STARTED;
	ev.since = past->started ? past->started : now - 10;
	ev.alloc = &part;
	ev.nallocs = 1;
	story_step(s, now, &ev);
}

static struct egs_event event(const struct story *s, enum egs_event_kind kind)
{
	return story_event(s, JOB, kind);
}

/* The job waited 100 s, runs, has saved, and is preempted for job 2 at 500. */
static struct egs_job_history preempted_job(void)
{
	struct story s = story_new();
	struct egs_event ev;
	struct egs_job_history past;

	story_submit(&s, 100, 2, BLUE, PROD, 4);
	story_submit(&s, 100, JOB, RED, SCAVENGE, 4);
	story_start(&s, 200, JOB, 0, 4);
	ev = event(&s, EGS_EV_SAVED);
	story_step(&s, 400, &ev);
	ev = event(&s, EGS_EV_PREEMPTING);
	ev.requester = 2;
	story_step(&s, 500, &ev);
	past = past_of(&s);
	story_end(&s);
	return past;
}

static void the_same_run(void)
{
	struct egs_job_history past = preempted_job(), again;
	struct story s = story_new();
	struct egs_event ev;

	story_submit(&s, 540, 2, BLUE, PROD, 4);
	see_again(&s, 550, &past, 0, true);
	again = past_of(&s);
	is_int(again.queued_at, 100, "the time of queueing survives a restart");
	is_int(again.waited_s, 100,
	       "the time a job waited counts once across a restart");
	is_int(again.saved_at, 400,
	       "the time of the last save survives a restart");
	is_int(again.loan_since, 200, "the start of a loan survives a restart");
	is_int(again.deadline, past.deadline,
	       "the deadline of a preemption survives a restart");
	is_int(again.requester, 2,
	       "the requester of a preemption survives a restart");
	ev = event(&s, EGS_EV_PREEMPTING);
	story_step(&s, 560, &ev);
	is_int(past_of(&s).request_no, 1,
	       "a preemption seen again after a restart has the same notice");
	story_tick(&s, past.deadline);
	is_int(s.seen[EGS_ACT_REQUEUE], 1,
	       "a job is requeued at a deadline set before a restart");
	past = past_of(&s);
	story_end(&s);

	s = story_new();
	see_again(&s, 700, &past, 0, true);
	story_tick(&s, 10000);
	is_int(s.seen[EGS_ACT_REQUEUE], 0,
	       "a deadline that passed before a restart does not pass again");
	story_tell(&s, 10010, JOB, EGS_EV_REQUEUED);
	is_int(past_of(&s).preemptions, 1,
	       "a preemption that began before a restart counts against "
	       "MaxPreemptions");
	story_end(&s);
}

static void requeued_meanwhile(void)
{
	struct egs_job_history past = preempted_job();
	struct story s = story_new();

	see_again(&s, 700, &past, 1, false);
	is_int(s.seen[EGS_ACT_RELEASE], 1,
	       "a victim that was requeued during a restart is released");
	is_int(past_of(&s).preemptions, 1,
	       "a requeue during a restart counts against MaxPreemptions");
	ok(!past_of(&s).preempting, "a victim that was requeued during a "
				    "restart is no longer preempted");
	is_int(past_of(&s).waited_s, 100,
	       "the waiting time of a victim survives a requeue during a "
	       "restart");
	story_tick(&s, 10000);
	is_int(s.seen[EGS_ACT_REQUEUE], 0,
	       "a victim that was requeued during a restart has no deadline");
	story_end(&s);
}

static void started_meanwhile(void)
{
	struct egs_job_history past = { .queued_at = 100 };
	struct story s = story_new();

	see_again(&s, 310, &past, 0, true);
	is_int(past_of(&s).waited_s, 200,
	       "a job that started during a restart has waited until its "
	       "start");
	story_end(&s);
}

static void budgets(void)
{
	struct egs_job_history past = { .queued_at = 100,
					.preemptions = 3,
					.budget_from = 50 };
	struct egs_policy_conf *c = story_conf();
	struct story s;

	c->tier[SCAVENGE].max_preemptions.count = 3;
	c->tier[SCAVENGE].max_preemptions.per_s = DAY;
	s = story_with(c);
	see_again(&s, 200, &past, 3, false);
	ok(story_row(&s, JOB).preempt_budget_used,
	   "a job that reached MaxPreemptions before a restart still has");
	story_end(&s);
}

static void usage(void)
{
	struct egs_policy_conf *c = story_conf();
	struct story s = story_with(c);
	struct egs_event ev = { .kind = EGS_EV_USAGE,
				.facts = { .team = RED, .workload = -1 } };
	struct egs_usage_snapshot usage_then;

	story_run(&s, 1000, JOB, RED, RESEARCH, 0, 4);
	story_tick(&s, 5000);
	usage_then = egs_policy_team_usage(s.p, RED);
	is_int(usage_then.at, 5000,
	       "the snapshot of a team's usage has the present time");
	is_int((intmax_t)usage_then.gpu_s, 4 * 4000,
	       "the snapshot of a team's usage has its GPU-seconds");
	story_end(&s);

	s = story_new();
	story_tick(&s, 5000);
	ev.usage = &usage_then;
	story_step(&s, 5000, &ev);
	is_int((intmax_t)egs_policy_team_usage(s.p, RED).units,
	       (intmax_t)usage_then.units, "decayed usage survives a restart");
	is_int((intmax_t)egs_policy_team_usage(s.p, RED).gpu_s,
	       (intmax_t)usage_then.gpu_s,
	       "GPU-seconds of the period survive a restart");
	story_tick(&s, 5000 + s.conf->half_life_s);
	ok(egs_policy_team_usage(s.p, RED).units <= usage_then.units / 2 + 1,
	   "restored usage decays");
	is_int((intmax_t)egs_policy_team_usage(s.p, BLUE).units, 0,
	       "restored usage belongs to one team only");
	ev.facts.team = -1;
	story_step(&s, s.now, &ev);
	is_int((intmax_t)egs_policy_team_usage(s.p, BLUE).units, 0,
	       "restored usage of an unknown team is ignored");
	story_end(&s);
}

/* The job was counted until 5000, the next policy sees it at 8000. */
static void running_without_daemon(void)
{
	struct egs_usage_snapshot usage_then = { .at = 5000, .gpu_s = 16000 };
	struct egs_event ev = { .kind = EGS_EV_USAGE,
				.facts = { .team = RED, .workload = -1 },
				.usage = &usage_then };
	struct egs_job_history past = { .started = 1000 };
	struct story s = story_new();

	story_step(&s, 8000, &ev);
	see_again(&s, 8000, &past, 0, true);
	usage_then = egs_policy_team_usage(s.p, RED);
	is_int((intmax_t)usage_then.gpu_s, 16000 + 4 * 3000,
	       "GPU-seconds of a running job count while no daemon runs");
	ok(usage_then.units > UINT64_C(4) * 2950 * EGS_MILLI_ONE &&
		   usage_then.units <= UINT64_C(4) * 3000 * EGS_MILLI_ONE,
	   "decayed usage grows while no daemon runs");
	story_end(&s);

	s = story_new();
	past.started = 7000;
	story_step(&s, 8000, &ev);
	see_again(&s, 8000, &past, 0, true);
	is_int((intmax_t)egs_policy_team_usage(s.p, RED).gpu_s,
	       (intmax_t)usage_then.gpu_s,
	       "a run is not charged again for time before the snapshot");
	story_end(&s);

	s = story_new();
	see_again(&s, 8000, &past, 0, true);
	is_int((intmax_t)egs_policy_team_usage(s.p, RED).gpu_s, 0,
	       "a run before the first daemon is not charged");
	story_end(&s);
}

/* A run of 4 GPUs from 1000 on; the next policy sees only its end. */
static void ended_without_daemon(void)
{
	struct egs_usage_snapshot usage_then = { .at = 5000, .gpu_s = 16000 };
	struct egs_event usage = { .kind = EGS_EV_USAGE,
				   .facts = { .team = RED, .workload = -1 },
				   .usage = &usage_then };
	struct egs_event ev = story_job(JOB, RED, SCAVENGE, 4);
	const struct egs_node_alloc part = { .gpus = 4 };
	struct story s = story_new();

	ev.kind = EGS_EV_ENDED;
	ev.started_unseen = true;
	ev.since = 1000;
	ev.until = 4000;
	ev.alloc = &part;
	ev.nallocs = 1;
	story_step(&s, 8000, &usage);
	story_step(&s, 8000, &ev);
	is_int((intmax_t)egs_policy_team_usage(s.p, RED).gpu_s, 16000,
	       "a run that ended before the snapshot is not charged again");
	ev.until = 6000;
	story_step(&s, 8000, &ev);
	usage_then = egs_policy_team_usage(s.p, RED);
	is_int((intmax_t)usage_then.gpu_s, 16000 + 4 * 1000,
	       "a run that ended while no daemon ran is charged until its end");
	ok(usage_then.units > UINT64_C(4) * 980 * EGS_MILLI_ONE &&
		   usage_then.units <= UINT64_C(4) * 1000 * EGS_MILLI_ONE,
	   "decayed usage includes a run that ended while no daemon ran");
	ok(!egs_policy_job(s.p, JOB),
	   "a run that ended while no daemon ran adds no job");
	ev.started_unseen = false;
	story_step(&s, 8000, &ev);
	is_int((intmax_t)egs_policy_team_usage(s.p, RED).gpu_s,
	       (intmax_t)usage_then.gpu_s,
	       "the end of an unknown job charges nothing");
	story_end(&s);
}

static void workload_hours(void)
{
	struct egs_usage_snapshot usage_then = { .at = 5000,
						 .gpu_s = 3 * 3600 };
	struct egs_event ev = { .kind = EGS_EV_USAGE,
				.facts = { .team = -1, .workload = 0 },
				.usage = &usage_then };
	struct egs_policy_conf *c = story_conf();
	struct egs_workload *w = egs_conf_add_workload(c, "cards");
	struct story s;

	w->team = RED;
	w->max_gpu_hours = (struct egs_rate){ 3, DAY };
	s = story_with(c);
	story_step(&s, 5000, &ev);
	is_int((intmax_t)egs_policy_workload_usage(s.p, 0).gpu_s, 3 * 3600,
	       "GPU-seconds of a workload survive a restart");
	ev = story_job(JOB, RED, RESEARCH, 4);
	ev.facts.workload = 0;
	story_step(&s, 5010, &ev);
	story_start(&s, 5010, JOB, 0, 4);
	ok(story_row(&s, JOB).on_loan,
	   "a limit of a workload reached before a restart still holds");
	story_end(&s);
}

static void saves(void)
{
	static const uint16_t took[] = { 10, 20, 30, 40, 50 };
	struct story s = story_new();
	struct egs_job_history past;
	size_t i;

	story_run(&s, 1000, JOB, RED, RESEARCH, 0, 4);
	for (i = 0; i < 5; i++) {
		struct egs_event ev = event(&s, EGS_EV_SAVED);

		ev.took_s = took[i];
		story_step(&s, s.now + 100, &ev);
	}
	past = past_of(&s);
	ok(memcmp(past.save_s, took + 1, sizeof(past.save_s)) == 0,
	   "the history of a job has its last save times, the oldest first");
	is_int(egs_policy_grace(s.p, JOB), 75,
	       "the longest of the last saves gives the grace period");
	story_end(&s);

	s = story_new();
	see_again(&s, 2000, &past, 0, true);
	is_int(egs_policy_grace(s.p, JOB), 75,
	       "the grace period survives a restart");
	ok(memcmp(past_of(&s).save_s, past.save_s, sizeof(past.save_s)) == 0,
	   "the save times survive a second restart");
	story_end(&s);
}

static void wrong_clock(void)
{
	struct egs_usage_snapshot usage_then = { .at = 1000 * DAY,
						 .units = ROOM };
	struct egs_event ev = { .kind = EGS_EV_USAGE,
				.facts = { .team = BLUE, .workload = -1 },
				.usage = &usage_then };
	struct story s = story_new();

	story_step(&s, DAY, &ev);
	story_tick(&s, DAY + s.conf->half_life_s);
	ok(egs_policy_team_usage(s.p, BLUE).units <= ROOM / 2 + 1,
	   "usage with a time in the future decays from now on");
	story_end(&s);
}

int main(void)
{
	plan_none();
	the_same_run();
	requeued_meanwhile();
	started_meanwhile();
	budgets();
	usage();
	running_without_daemon();
	ended_without_daemon();
	workload_hours();
	saves();
	wrong_clock();
	return done_testing();
}
