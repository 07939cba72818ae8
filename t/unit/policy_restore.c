/* policy_restore.c - what one policy knew, the next one goes on with */
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

/* The job again, as a new policy sees it: running if it has a node. */
static void seen_again(struct story *s, egs_time_t now,
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

/* Waited 100 s, runs, has saved, and is asked to go: by 2, at 500. */
static struct egs_job_history asked_job(void)
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
	struct egs_job_history past = asked_job(), again;
	struct story s = story_new();
	struct egs_event ev;

	story_submit(&s, 540, 2, BLUE, PROD, 4);
	seen_again(&s, 550, &past, 0, true);
	again = past_of(&s);
	is_int(again.queued_at, 100, "it waits since it did");
	is_int(again.waited_s, 100, "the time it waited counts once");
	is_int(again.saved_at, 400, "its checkpoint is as old as it is");
	is_int(again.loan_since, 200, "and so is its loan");
	is_int(again.deadline, past.deadline, "its time to go stays");
	is_int(again.requester, 2, "for the job that wanted it");
	ev = event(&s, EGS_EV_PREEMPTING);
	story_step(&s, 560, &ev);
	is_int(past_of(&s).request_no, 1, "it is not asked twice");
	story_tick(&s, past.deadline);
	is_int(s.seen[EGS_ACT_REQUEUE], 1, "and goes when its time is up");
	past = past_of(&s);
	story_end(&s);

	s = story_new();
	seen_again(&s, 700, &past, 0, true);
	story_tick(&s, 10000);
	is_int(s.seen[EGS_ACT_REQUEUE], 0, "the next policy knows that");
	story_tell(&s, 10010, JOB, EGS_EV_REQUEUED);
	is_int(past_of(&s).preemptions, 1, "and counts the preemption");
	story_end(&s);
}

static void gone_meanwhile(void)
{
	struct egs_job_history past = asked_job();
	struct story s = story_new();

	seen_again(&s, 700, &past, 1, false);
	is_int(s.seen[EGS_ACT_RELEASE], 1,
	       "who was requeued unseen need not wait");
	is_int(past_of(&s).preemptions, 1, "and it was a preemption");
	ok(!past_of(&s).preempting, "nobody asks it any more");
	is_int(past_of(&s).waited_s, 100, "its age stays");
	story_tick(&s, 10000);
	is_int(s.seen[EGS_ACT_REQUEUE], 0, "there is no deadline left");
	story_end(&s);
}

static void started_meanwhile(void)
{
	struct egs_job_history past = { .queued_at = 100 };
	struct story s = story_new();

	seen_again(&s, 310, &past, 0, true);
	is_int(past_of(&s).waited_s, 200,
	       "who started unseen has waited till it");
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
	seen_again(&s, 200, &past, 3, false);
	ok(story_row(&s, JOB).preempt_budget_used,
	   "a budget that was used up still is");
	story_end(&s);
}

static void usage(void)
{
	struct egs_policy_conf *c = story_conf();
	struct story s = story_with(c);
	struct egs_event ev = { .kind = EGS_EV_USAGE,
				.facts = { .team = RED, .workload = -1 } };
	struct egs_usage_snapshot tally;

	story_run(&s, 1000, JOB, RED, RESEARCH, 0, 4);
	story_tick(&s, 5000);
	tally = egs_policy_team_usage(s.p, RED);
	is_int(tally.at, 5000, "a tally is of now");
	is_int((intmax_t)tally.gpu_s, 4 * 4000, "and has the GPU-seconds");
	story_end(&s);

	s = story_new();
	story_tick(&s, 5000);
	ev.usage = &tally;
	story_step(&s, 5000, &ev);
	is_int((intmax_t)egs_policy_team_usage(s.p, RED).units,
	       (intmax_t)tally.units, "usage goes on where it was");
	is_int((intmax_t)egs_policy_team_usage(s.p, RED).gpu_s,
	       (intmax_t)tally.gpu_s, "and so do the hours");
	story_tick(&s, 5000 + s.conf->half_life_s);
	ok(egs_policy_team_usage(s.p, RED).units <= tally.units / 2 + 1,
	   "it decays while nobody looks");
	is_int((intmax_t)egs_policy_team_usage(s.p, BLUE).units, 0,
	       "other teams have none of it");
	ev.facts.team = -1;
	story_step(&s, s.now, &ev);
	ok(true, "a team that is gone is nobody's usage");
	story_end(&s);
}

/* The job was counted until 5000, the next policy sees it at 8000. */
static void unwatched(void)
{
	struct egs_usage_snapshot tally = { .at = 5000, .gpu_s = 16000 };
	struct egs_event ev = { .kind = EGS_EV_USAGE,
				.facts = { .team = RED, .workload = -1 },
				.usage = &tally };
	struct egs_job_history past = { .started = 1000 };
	struct story s = story_new();

	story_step(&s, 8000, &ev);
	seen_again(&s, 8000, &past, 0, true);
	tally = egs_policy_team_usage(s.p, RED);
	is_int((intmax_t)tally.gpu_s, 16000 + 4 * 3000,
	       "GPUs count while nobody watches");
	ok(tally.units > UINT64_C(4) * 2950 * EGS_MILLI_ONE &&
		   tally.units <= UINT64_C(4) * 3000 * EGS_MILLI_ONE,
	   "in the share, too");
	story_end(&s);

	s = story_new();
	past.started = 7000;
	story_step(&s, 8000, &ev);
	seen_again(&s, 8000, &past, 0, true);
	is_int((intmax_t)egs_policy_team_usage(s.p, RED).gpu_s,
	       (intmax_t)tally.gpu_s, "a tally of now is not charged again");
	story_end(&s);

	s = story_new();
	seen_again(&s, 8000, &past, 0, true);
	is_int((intmax_t)egs_policy_team_usage(s.p, RED).gpu_s, 0,
	       "what ran before anybody counted is free");
	story_end(&s);
}

/* A run of 4 GPUs from 1000 on, of which the next policy sees only its end. */
static void ended_unwatched(void)
{
	struct egs_usage_snapshot tally = { .at = 5000, .gpu_s = 16000 };
	struct egs_event usage = { .kind = EGS_EV_USAGE,
				   .facts = { .team = RED, .workload = -1 },
				   .usage = &tally };
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
	       "a run that ended while it was watched is counted already");
	ev.until = 6000;
	story_step(&s, 8000, &ev);
	tally = egs_policy_team_usage(s.p, RED);
	is_int((intmax_t)tally.gpu_s, 16000 + 4 * 1000,
	       "one that ended while nobody watched counts to its end");
	ok(tally.units > UINT64_C(4) * 980 * EGS_MILLI_ONE &&
		   tally.units <= UINT64_C(4) * 1000 * EGS_MILLI_ONE,
	   "in the share, too");
	ok(!egs_policy_job(s.p, JOB), "and is known no more than before");
	ev.started_unseen = false;
	story_step(&s, 8000, &ev);
	is_int((intmax_t)egs_policy_team_usage(s.p, RED).gpu_s,
	       (intmax_t)tally.gpu_s, "the end of a stranger is nothing");
	story_end(&s);
}

/* Two rows of a workload: one for a phase, with a limit, and the rest. */
static void workload_hours(void)
{
	struct egs_usage_snapshot tally = { .at = 5000, .gpu_s = 3 * 3600 };
	struct egs_event ev = { .kind = EGS_EV_USAGE,
				.facts = { .team = -1, .workload = 0 },
				.usage = &tally };
	struct egs_policy_conf *c = story_conf();
	struct egs_workload *w = egs_conf_add_workload(c, "cards");
	struct story s;

	w->team = RED;
	w->max_gpu_hours = (struct egs_rate){ 3, DAY };
	s = story_with(c);
	story_step(&s, 5000, &ev);
	is_int((intmax_t)egs_policy_workload_usage(s.p, 0).gpu_s, 3 * 3600,
	       "the hours of a workload go on where they were");
	ev = story_job(JOB, RED, RESEARCH, 4);
	ev.facts.workload = 0;
	story_step(&s, 5010, &ev);
	story_start(&s, 5010, JOB, 0, 4);
	ok(story_row(&s, JOB).on_loan, "so a limit that was reached holds");
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
	   "the last save times are given on, the oldest first");
	is_int(egs_policy_grace(s.p, JOB), 75, "they make the grace");
	story_end(&s);

	s = story_new();
	seen_again(&s, 2000, &past, 0, true);
	is_int(egs_policy_grace(s.p, JOB), 75, "after a restart, too");
	ok(memcmp(past_of(&s).save_s, past.save_s, sizeof(past.save_s)) == 0,
	   "and are given on again");
	story_end(&s);
}

static void wrong_clock(void)
{
	struct egs_usage_snapshot tally = { .at = 1000 * DAY, .units = ROOM };
	struct egs_event ev = { .kind = EGS_EV_USAGE,
				.facts = { .team = BLUE, .workload = -1 },
				.usage = &tally };
	struct story s = story_new();

	story_step(&s, DAY, &ev);
	story_tick(&s, DAY + s.conf->half_life_s);
	ok(egs_policy_team_usage(s.p, BLUE).units <= ROOM / 2 + 1,
	   "usage from the future decays from now on");
	story_end(&s);
}

int main(void)
{
	plan_none();
	the_same_run();
	gone_meanwhile();
	started_meanwhile();
	budgets();
	usage();
	unwatched();
	ended_unwatched();
	workload_hours();
	saves();
	wrong_clock();
	return done_testing();
}
