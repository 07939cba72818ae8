/* policy_deadline.c - grace periods, and what happens at the deadline */
#include "t/lib/unit/policy_fixture.h"
#include "t/lib/unit/tap.h"

/* Slurm's deadline may come before the grace period ends: the time limit. */
static void slurm_sets_the_deadline(void)
{
	struct story s = story_new();
	struct egs_event ev;

	story_run(&s, 0, 1, RED, SCAVENGE, 0, 4);
	ev = story_event(&s, 1, EGS_EV_PREEMPTING);
	ev.since = 8;
	ev.until = 20;
	story_step(&s, 10, &ev);
	is_int(egs_policy_job(s.p, 1)->deadline, 20,
	       "a deadline of Slurm before the end of the grace period is the "
	       "deadline");
	is_int(egs_policy_job(s.p, 1)->requested_at, 8,
	       "the time at which Slurm preempted the job is the time of the "
	       "notice");
	story_end(&s);
}

static void a_deadline_passes(void)
{
	struct egs_policy_conf *c = story_conf();
	struct story s;

	c->mode = EGS_MODE_OBSERVE;
	c->tier[SCAVENGE].at_deadline = EGS_FATE_CANCEL;
	s = story_with(c);
	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_run(&s, 0, 2, RED, SCAVENGE, 1, 4);
	story_submit(&s, 1, 9, BLUE, PROD, 4);
	story_preempt(&s, 10, 1, 9);
	story_preempt(&s, 20, 2, 9);
	story_tick(&s, 129);
	is_int(s.seen[EGS_ACT_REQUEUE], 0,
	       "one second before the deadline nothing happens");
	story_tick(&s, 130);
	is_int(s.seen[EGS_ACT_REQUEUE], 1, "at its deadline a job is requeued");
	story_tick(&s, 140);
	is_int(s.seen[EGS_ACT_CANCEL], 1,
	       "at its deadline a job of a tier with AtDeadline=cancel is "
	       "cancelled");
	is_int(s.seen[EGS_ACT_REQUEUE], 0,
	       "a job that was requeued at its deadline is not requeued again");
	story_end(&s);
}

/* At its own deadline Slurm would requeue the job, so that one is later. */
static void slurm_waits_longer(void)
{
	struct egs_policy_conf *c = story_conf();
	struct egs_event ev;
	struct story s;

	c->tier[SCAVENGE].at_deadline = EGS_FATE_CANCEL;
	s = story_with(c);
	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_run(&s, 0, 2, RED, SCAVENGE, 1, 4);
	is_int(egs_policy_slack(s.p, 1), 0,
	       "a job that is requeued at its deadline has no slack");
	is_int(egs_policy_slack(s.p, 2), 30,
	       "a job that is cancelled at its deadline has 30 s of slack");
	ev = story_event(&s, 2, EGS_EV_PREEMPTING);
	ev.until = 10 + 120 + 30;
	story_step(&s, 10, &ev);
	is_int(egs_policy_job(s.p, 2)->deadline, 10 + 120,
	       "the deadline of a job with slack comes before Slurm's");
	story_run(&s, 11, 3, RED, SCAVENGE, 2, 4);
	ev = story_event(&s, 3, EGS_EV_PREEMPTING);
	ev.until = 50;
	story_step(&s, 11, &ev);
	is_int(egs_policy_job(s.p, 3)->deadline, 50,
	       "a time limit before the end of the grace period is the "
	       "deadline");
	story_end(&s);
}

/* AtDeadline=spare: another job is preempted instead. */
static void a_late_job_is_withdrawn(void)
{
	struct egs_policy_conf *c = story_conf();
	struct story s;

	c->tier[SCAVENGE].at_deadline = EGS_FATE_NONE;
	s = story_with(c);
	story_run(&s, 0, 1, RED, SCAVENGE, 0, 4);
	story_submit(&s, 0, 2, BLUE, PROD, 4);
	story_preempt(&s, 10, 1, 2);
	story_tick(&s, 130);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1,
	       "with AtDeadline=spare a late job is withdrawn");
	is_int(s.seen[EGS_ACT_REQUEUE] + s.seen[EGS_ACT_CANCEL], 0,
	       "with AtDeadline=spare a late job is neither requeued nor "
	       "cancelled");
	ok(!story_may_take(&s, 2, 1),
	   "a job being withdrawn for lateness cannot be preempted");
	story_tell(&s, 131, 1, EGS_EV_WITHDRAWN);
	ok(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.withdrawn,
	   "the record of a withdrawn preemption says withdrawn");
	ok(!story_may_take(&s, 2, 1), "a job withdrawn for lateness cannot be "
				      "preempted after Slurm confirmed");
	is_int(egs_policy_fate(s.p, 1), EGS_FATE_NONE,
	       "a job withdrawn for lateness has no fate as a victim");
	story_tick(&s, 190);
	ok(story_may_take(&s, 2, 1),
	   "a job withdrawn for lateness can be preempted after a minute");
	story_end(&s);
}

static void grace(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(1, RED, RESEARCH, 1);

	ev.facts.save_time_s = 100;
	story_step(&s, 0, &ev);
	story_start(&s, 1, 1, 0, 1);
	is_int(egs_policy_grace(s.p, 1), 150,
	       "the grace period is 1.5 times --save-time");
	story_saved(&s, 10, 1, 200);
	story_saved(&s, 20, 1, 40);
	is_int(egs_policy_grace(s.p, 1), 300,
	       "the grace period is 1.5 times the longest save");
	story_saved(&s, 30, 1, 5000);
	is_int(egs_policy_grace(s.p, 1), 600,
	       "the grace period is at most GraceMax");
	for (int i = 0; i < EGS_SAVE_TIMES; i++)
		story_saved(&s, 40 + i, 1, 2);
	is_int(egs_policy_grace(s.p, 1), 30,
	       "the grace period is at least GraceMin");
	story_end(&s);
}

int main(void)
{
	plan_none();
	slurm_sets_the_deadline();
	a_deadline_passes();
	slurm_waits_longer();
	a_late_job_is_withdrawn();
	grace();
	return done_testing();
}
