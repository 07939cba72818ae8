/* policy_preempt.c - asked, saved, yielded, requeued; and ids used again */
#include "t/lib/unit/policy_fixture.h"
#include "t/lib/unit/tap.h"

static void ask(struct story *s, egs_time_t now, uint32_t id, uint32_t by)
{
	struct egs_event ev = story_event(s, id, EGS_EV_PREEMPTING);

	ev.requester = by;
	story_step(s, now, &ev);
}

static void yield_to(struct story *s, egs_time_t now, uint32_t id,
		     uint32_t request)
{
	struct egs_event ev = story_event(s, id, EGS_EV_YIELDED);

	ev.request_no = request;
	story_step(s, now, &ev);
}

static void saved(struct story *s, egs_time_t now, uint32_t id, uint32_t took_s)
{
	struct egs_event ev = story_event(s, id, EGS_EV_SAVED);

	ev.took_s = took_s;
	story_step(s, now, &ev);
}

static void a_victim_saves_and_yields(void)
{
	struct story s = story_new();

	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	yield_to(&s, 5, 1, 0);
	is_int(s.seen[EGS_ACT_REQUEUE], 0,
	       "nobody asked: a yield does nothing");
	ask(&s, 10, 1, 2);
	is_int(egs_policy_job(s.p, 1)->deadline, 10 + 120,
	       "who never reported a save gets GraceNoAck");
	yield_to(&s, 20, 1, 0);
	is_int(s.seen[EGS_ACT_REQUEUE], 0, "an old request does not count");
	yield_to(&s, 30, 1, 1);
	is_int(s.seen[EGS_ACT_REQUEUE], 1, "the one it has seen does");
	is_int(s.last[EGS_ACT_REQUEUE].requester, 2,
	       "and says for whom it goes");
	yield_to(&s, 31, 1, 1);
	is_int(s.seen[EGS_ACT_REQUEUE], 0, "once");
	story_tell(&s, 40, 1, EGS_EV_REQUEUED);
	is_int(s.seen[EGS_ACT_RELEASE], 1, "its begin time is cleared");
	story_tick(&s, 1000);
	is_int(s.seen[EGS_ACT_REQUEUE], 0, "the deadline is gone with it");
	story_end(&s);
}

static void told(struct story *s, egs_time_t now, uint32_t id, bool completing)
{
	struct egs_event ev = story_event(s, id, EGS_EV_UPDATED);

	ev.facts = egs_policy_job(s->p, id)->facts;
	ev.facts.completing = completing;
	story_step(s, now, &ev);
}

/* Cleared too early the victim would be as quick as the job it made room for;
 * Slurm sets the time again when the last process has ended.
 */
static void a_victim_is_released(void)
{
	struct story s = story_new();

	story_run(&s, 0, 1, RED, SCAVENGE, 0, 4);
	story_submit(&s, 1, 2, BLUE, PROD, 4);
	ask(&s, 10, 1, 0);
	is_int(egs_policy_job(s.p, 1)->requester, 2,
	       "Slurm does not say for whom: the first that may take it");
	is_int(s.seen[EGS_ACT_RECORD_REQUEST], 1, "the ledger hears of it");
	told(&s, 12, 1, true);
	story_tell(&s, 13, 1, EGS_EV_REQUEUED);
	is_int(s.seen[EGS_ACT_RECORD_DEPARTURE], 1, "and that it went");
	is_int(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.lost_work_s, 0,
	       "it declared a checkpoint and went in time: nothing is lost");
	is_int(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.held_s, 3,
	       "but three seconds");
	is_int(s.seen[EGS_ACT_RELEASE], 0, "its processes are being ended");
	told(&s, 14, 1, false);
	is_int(s.seen[EGS_ACT_RELEASE], 0, "the other has not started");
	story_start(&s, 15, 2, 0, 4);
	is_int(s.seen[EGS_ACT_RELEASE], 1, "now it may come back");
	story_tick(&s, 16);
	is_int(s.seen[EGS_ACT_RELEASE], 0, "once");
	story_start(&s, 20, 1, 1, 4);
	is_int(s.seen[EGS_ACT_RECORD_RESTART], 1, "it is back");
	is_int(s.last[EGS_ACT_RECORD_RESTART].preempt.request_no, 1,
	       "from that request");
	is_int(egs_policy_grace(s.p, 1), 30,
	       "three seconds are what it takes to save: GraceMin");
	story_end(&s);
}

/* Another one may take from it as well, and comes first in the queue. */
static void it_waits_for_one(void)
{
	struct story s = story_new();

	story_run(&s, 0, 1, RED, SCAVENGE, 0, 4);
	story_submit(&s, 1, 2, BLUE, PROD, 4);
	story_submit(&s, 2, 3, BLUE, PROD, 4);
	ask(&s, 10, 1, 3);
	story_tell(&s, 12, 1, EGS_EV_REQUEUED);
	is_int(egs_policy_job(s.p, 1)->departed_for, 3,
	       "it waits for the one that has asked it");
	story_start(&s, 13, 3, 0, 4);
	is_int(s.seen[EGS_ACT_RELEASE], 1, "and for no other");
	story_end(&s);
}

/* In one look at Slurm the victim comes first. */
static void the_taker_is_shown_later(void)
{
	struct story s = story_new();
	struct egs_event ev;

	story_run(&s, 0, 1, RED, SCAVENGE, 0, 4);
	ev = story_event(&s, 1, EGS_EV_PREEMPTING);
	egs_policy_apply(s.p, &ev, 10);
	story_submit(&s, 10, 2, BLUE, PROD, 4);
	is_int(s.seen[EGS_ACT_RECORD_REQUEST], 1,
	       "the ledger hears of it then,");
	is_int(s.last[EGS_ACT_RECORD_REQUEST].requester, 2, "and for whom");
	story_tick(&s, 11);
	is_int(s.seen[EGS_ACT_RECORD_REQUEST], 0, "once");
	story_tell(&s, 12, 1, EGS_EV_REQUEUED);
	story_start(&s, 13, 1, 0, 4);
	ev = story_event(&s, 1, EGS_EV_PREEMPTING);
	story_tell(&s, 14, 2, EGS_EV_ENDED);
	egs_policy_apply(s.p, &ev, 15);
	story_tell(&s, 15, 1, EGS_EV_REQUEUED);
	is_int(s.seen[EGS_ACT_RECORD_REQUEST] +
		       s.seen[EGS_ACT_RECORD_DEPARTURE],
	       2, "one that goes meanwhile was asked and has gone");
	story_end(&s);
}

/* Asked and gone between two looks, or requeued by its owner. */
static void nobody_saw_it_asked(void)
{
	struct story s = story_new();

	story_run(&s, 0, 1, RED, SCAVENGE, 0, 4);
	story_submit(&s, 1, 2, BLUE, PROD, 4);
	story_tell(&s, 10, 1, EGS_EV_REQUEUED);
	is_int(s.seen[EGS_ACT_RECORD_DEPARTURE], 0,
	       "the ledger has nothing to say");
	is_int(s.seen[EGS_ACT_RELEASE], 0, "it waits for who may take it");
	story_start(&s, 12, 2, 1, 4);
	is_int(s.seen[EGS_ACT_RELEASE], 1, "and comes back then");
	story_start(&s, 13, 1, 0, 4);
	story_tell(&s, 14, 1, EGS_EV_REQUEUED);
	is_int(s.seen[EGS_ACT_RELEASE], 0, "soon again: not at once");
	story_tick(&s, 17);
	is_int(s.seen[EGS_ACT_RELEASE], 1, "but a little later");
	story_end(&s);
}

static void what_is_lost(void)
{
	struct story s = story_new();

	story_run(&s, 0, 1, RED, SCAVENGE, 0, 4);
	story_submit(&s, 1, 9, BLUE, PROD, 4);
	saved(&s, 100, 1, 5);
	ask(&s, 130, 1, 9);
	story_tick(&s, 160);
	is_int(s.seen[EGS_ACT_REQUEUE], 1, "its time is up");
	story_tell(&s, 162, 1, EGS_EV_REQUEUED);
	ok(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.late,
	   "so it did not go by itself");
	is_int(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.lost_work_s, 30,
	       "30 s since its checkpoint are lost");
	is_int(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.held_s, 32,
	       "and 32 s for nothing");
	story_start(&s, 200, 1, 0, 4);
	ask(&s, 210, 1, 9);
	story_tell(&s, 240, 1, EGS_EV_REQUEUED);
	ok(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.late,
	   "Slurm was quicker to see it");
	story_start(&s, 300, 1, 0, 4);
	ask(&s, 310, 1, 9);
	story_tell(&s, 315, 1, EGS_EV_ENDED);
	ok(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.ended,
	   "one that ends is gone for good");
	story_end(&s);
}

/* Slurm's deadline may be sooner than the grace: the time limit. */
static void slurm_sets_the_deadline(void)
{
	struct story s = story_new();
	struct egs_event ev;

	story_run(&s, 0, 1, RED, SCAVENGE, 0, 4);
	ev = story_event(&s, 1, EGS_EV_PREEMPTING);
	ev.since = 8;
	ev.until = 20;
	story_step(&s, 10, &ev);
	is_int(egs_policy_job(s.p, 1)->deadline, 20, "it is ours, too");
	is_int(egs_policy_job(s.p, 1)->requested_at, 8, "and so is the time");
	story_end(&s);
}

/* Slurm has not asked it: it is told by the signal it declared. */
static void an_operator_asks(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(1, RED, SCAVENGE, 4);

	ev.facts.signal = 10;
	story_step(&s, 0, &ev);
	story_start(&s, 0, 1, 0, 4);
	story_submit(&s, 1, 2, BLUE, PROD, 4);
	ask(&s, 5, 1, 2);
	is_int(s.seen[EGS_ACT_SIGNAL], 0, "Slurm has sent it already");
	story_tell(&s, 6, 1, EGS_EV_REQUEUED);
	story_start(&s, 7, 1, 0, 4);
	ev = story_event(&s, 1, EGS_EV_PREEMPTING);
	ev.notify_job = true;
	ev.reason = "maintenance";
	ev.operator_name = "alice";
	story_step(&s, 10, &ev);
	is_int(s.seen[EGS_ACT_SIGNAL], 1, "here nobody has");
	is_str(s.last[EGS_ACT_RECORD_REQUEST].reason, "maintenance",
	       "the record of an operator's preemption has the reason");
	is_str(s.last[EGS_ACT_RECORD_REQUEST].operator_name, "alice",
	       "the record of an operator's preemption names the operator");
	is_int(egs_policy_job(s.p, 1)->requester, 0, "it is for no other job");
	story_end(&s);
}

static void an_exit_is_an_end_or_not(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(2, RED, SCAVENGE, 4);

	story_run(&s, 0, 1, RED, SCAVENGE, 0, 4);
	ok(egs_policy_exit_requeues(s.p, 1),
	   "it declared a checkpoint: a yield");
	ask(&s, 10, 1, 9);
	is_int(s.seen[EGS_ACT_EXIT_IS_FINAL], 0, "Slurm need not be told");
	story_tell(&s, 11, 1, EGS_EV_FINISHED);
	ok(!egs_policy_exit_requeues(s.p, 1), "its work is done: an end");
	is_int(s.seen[EGS_ACT_EXIT_IS_FINAL], 1, "of which Slurm hears");
	story_tell(&s, 12, 1, EGS_EV_REQUEUED);
	story_start(&s, 20, 1, 0, 4);
	ok(egs_policy_exit_requeues(s.p, 1), "the next run has more to do");
	ev.facts.ckpt = false;
	story_step(&s, 30, &ev);
	story_start(&s, 30, 2, 1, 4);
	ok(!egs_policy_exit_requeues(s.p, 2), "it declared nothing: an end");
	ask(&s, 31, 2, 9);
	is_int(s.seen[EGS_ACT_EXIT_IS_FINAL], 1, "from the first moment");
	ev = story_job(3, RED, SCAVENGE, 4);
	ev.facts.exit_is_final = true;
	story_step(&s, 40, &ev);
	ok(!egs_policy_exit_requeues(s.p, 3), "exit=finish: an end");
	yield_to(&s, 41, 2, egs_policy_job(s.p, 2)->request_no);
	ok(egs_policy_exit_requeues(s.p, 2),
	   "it has said that it yields: no end");
	story_tell(&s, 42, 2, EGS_EV_REQUEUED);
	ok(!egs_policy_exit_requeues(s.p, 2), "but in that run only");
	story_end(&s);
}

static void a_requeue_shows_in_the_count(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(1, RED, RESEARCH, 4);

	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	ask(&s, 10, 1, 2);
	ev.job.restarts = 1;
	ev.job.submit = 20;
	story_step(&s, 20, &ev);
	is_int(s.seen[EGS_ACT_RELEASE], 1, "a requeue nobody told of counts");
	is_int(s.last[EGS_ACT_RELEASE].job.restarts, 1,
	       "and what follows is about the attempt that waits now");
	story_end(&s);
}

/* Nobody looked while it was asked and went, but slurmctld has noted it. */
static void nobody_saw_it_go(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(1, RED, RESEARCH, 4);

	ev.facts.departed = ev.facts.completing = true;
	story_step(&s, 20, &ev);
	is_int(s.seen[EGS_ACT_RELEASE], 0, "its processes are being ended");
	ev.facts.completing = false;
	story_step(&s, 21, &ev);
	is_int(s.seen[EGS_ACT_RELEASE], 1, "a victim unseen comes back");
	ev.facts.not_schedulable = true;
	story_step(&s, 22, &ev);
	story_tick(&s, 90);
	is_int(s.seen[EGS_ACT_RELEASE], 0, "that is said once");
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
	ask(&s, 10, 1, 9);
	ask(&s, 20, 2, 9);
	story_tick(&s, 129);
	is_int(s.seen[EGS_ACT_REQUEUE], 0, "a second short nothing happens");
	story_tick(&s, 130);
	is_int(s.seen[EGS_ACT_REQUEUE], 1, "at its deadline a job is requeued");
	story_tick(&s, 140);
	is_int(s.seen[EGS_ACT_CANCEL], 1, "or cancelled, as its tier says");
	is_int(s.seen[EGS_ACT_REQUEUE], 0, "and nobody twice");
	story_end(&s);
}

/* Slurm would requeue it: its own deadline is later. */
static void slurm_waits_longer(void)
{
	struct egs_policy_conf *c = story_conf();
	struct egs_event ev;
	struct story s;

	c->tier[SCAVENGE].at_deadline = EGS_FATE_CANCEL;
	s = story_with(c);
	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_run(&s, 0, 2, RED, SCAVENGE, 1, 4);
	is_int(egs_policy_slack(s.p, 1), 0, "a job that is requeued anyway");
	is_int(egs_policy_slack(s.p, 2), 30, "one that is cancelled");
	ev = story_event(&s, 2, EGS_EV_PREEMPTING);
	ev.until = 10 + 120 + 30;
	story_step(&s, 10, &ev);
	is_int(egs_policy_job(s.p, 2)->deadline, 10 + 120,
	       "has its own time and not Slurm's,");
	story_run(&s, 11, 3, RED, SCAVENGE, 2, 4);
	ev = story_event(&s, 3, EGS_EV_PREEMPTING);
	ev.until = 50;
	story_step(&s, 11, &ev);
	is_int(egs_policy_job(s.p, 3)->deadline, 50,
	       "unless its time limit comes first");
	story_end(&s);
}

/* Another one goes in its place. */
static void one_is_spared(void)
{
	struct egs_policy_conf *c = story_conf();
	struct story s;

	c->tier[SCAVENGE].at_deadline = EGS_FATE_NONE;
	s = story_with(c);
	story_run(&s, 0, 1, RED, SCAVENGE, 0, 4);
	story_submit(&s, 0, 2, BLUE, PROD, 4);
	ask(&s, 10, 1, 2);
	story_tick(&s, 130);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1, "late: its request is taken back,");
	is_int(s.seen[EGS_ACT_REQUEUE] + s.seen[EGS_ACT_CANCEL], 0,
	       "and nothing else is done to it");
	ok(!story_may_take(&s, 2, 1), "nobody takes from it,");
	story_tell(&s, 131, 1, EGS_EV_WITHDRAWN);
	ok(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.withdrawn,
	   "the ledger has it,");
	ok(!story_may_take(&s, 2, 1), "and it is still no victim,");
	is_int(egs_policy_fate(s.p, 1), EGS_FATE_NONE, "in any way,");
	story_tick(&s, 190);
	ok(story_may_take(&s, 2, 1), "until a minute has passed");
	story_end(&s);
}

/* The disk has failed: the same is said again. */
static void an_answer_is_not_kept(void)
{
	struct story s = story_new();
	struct egs_event ev;

	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	ask(&s, 10, 1, 2);
	yield_to(&s, 20, 1, 1);
	ev = story_event(&s, 1, EGS_EV_REVOKED);
	ev.request_no = 1;
	story_step(&s, 21, &ev);
	yield_to(&s, 22, 1, 1);
	is_int(s.seen[EGS_ACT_REQUEUE], 1, "a yield counts when it is kept");
	story_tick(&s, 130);
	is_int(s.seen[EGS_ACT_REQUEUE], 1,
	       "who is still there at its deadline goes");
	story_tell(&s, 131, 1, EGS_EV_REQUEUED);
	ok(!s.last[EGS_ACT_RECORD_DEPARTURE].preempt.late, "and was not late");
	story_start(&s, 140, 1, 0, 4);
	ask(&s, 150, 1, 2);
	story_tell(&s, 151, 1, EGS_EV_FINISHED);
	ev.request_no = 0;
	ev.job = egs_policy_job(s.p, 1)->ident;
	story_step(&s, 152, &ev);
	ok(egs_policy_exit_requeues(s.p, 1), "one that has finished has not,");
	story_tell(&s, 153, 1, EGS_EV_FINISHED);
	is_int(s.seen[EGS_ACT_EXIT_IS_FINAL], 1, "until it says so again");
	story_end(&s);
}

static void grace(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(1, RED, RESEARCH, 1);

	ev.facts.save_time_s = 100;
	story_step(&s, 0, &ev);
	story_start(&s, 1, 1, 0, 1);
	is_int(egs_policy_grace(s.p, 1), 150, "half more than --save-time");
	saved(&s, 10, 1, 200);
	saved(&s, 20, 1, 40);
	is_int(egs_policy_grace(s.p, 1), 300,
	       "half more than its longest save");
	saved(&s, 30, 1, 5000);
	is_int(egs_policy_grace(s.p, 1), 600, "at most GraceMax");
	for (int i = 0; i < EGS_SAVE_TIMES; i++)
		saved(&s, 40 + i, 1, 2);
	is_int(egs_policy_grace(s.p, 1), 30, "at least GraceMin");
	story_end(&s);
}

/* It saves nothing, says so at once, and is back in the next second. */
static void a_hundred_empty_yields(void)
{
	struct story s = story_new();
	int requeued = 0, released = 0;

	story_run(&s, 0, 1, RED, SCAVENGE, 0, 4);
	story_submit(&s, 1, 9, BLUE, PROD, 4);
	for (uint32_t i = 1; i <= 100; i++) {
		struct egs_event ev = story_event(&s, 1, EGS_EV_PREEMPTING);

		ev.notify_job = true;
		story_step(&s, 10 + i, &ev);
		yield_to(&s, 10 + i, 1, i);
		requeued += s.seen[EGS_ACT_REQUEUE];
		story_tell(&s, 10 + i, 1, EGS_EV_REQUEUED);
		released += s.seen[EGS_ACT_RELEASE];
		story_start(&s, 10 + i, 1, 0, 4);
	}
	is_int(requeued, 100, "it goes a hundred times,");
	is_int(released, 20, "and comes back every five seconds at most");
	ok(story_may_take(&s, 9, 1), "it is a victim like any other,");
	is_int(egs_policy_grace(s.p, 1), 120, "and nothing of it was a save");
	story_end(&s);
}

/* What cannot be requeued follows its tier. */
static void no_requeue(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(1, RED, RESEARCH, 8);

	ev.facts.can_requeue = false;
	story_step(&s, 0, &ev);
	story_start(&s, 0, 1, 0, 4);
	story_submit(&s, 1, 2, BLUE, PROD, 4);
	story_tick(&s, 2 * STORY_MIN_RUNTIME);
	ok(!story_may_take(&s, 2, 1), "spared while it is owned");
	ev = story_job(3, RED, SCAVENGE, 4);
	ev.facts.can_requeue = false;
	story_step(&s, s.now, &ev);
	story_start(&s, s.now, 3, 1, 4);
	ok(story_may_take(&s, 2, 3), "but not on loan");
	ask(&s, s.now, 3, 2);
	yield_to(&s, s.now, 3, 1);
	is_int(s.seen[EGS_ACT_CANCEL], 1, "where it is cancelled");
	story_end(&s);
}

static void budget(void)
{
	struct story s = story_new();

	story_submit(&s, 0, 1, RED, RESEARCH, 4);
	for (egs_time_t i = 0; i < 3; i++) {
		ok(!story_row(&s, 1).preempt_budget_used,
		   "%d preemption(s): some left", (int)i);
		story_start(&s, 100 * i, 1, 0, 4);
		ask(&s, 100 * i + 10, 1, 2);
		story_tell(&s, 100 * i + 20, 1, EGS_EV_REQUEUED);
	}
	ok(story_row(&s, 1).preempt_budget_used,
	   "three in a day use the budget up");
	is_int(egs_policy_job(s.p, 1)->ident.restarts, 3,
	       "one job with four attempts");
	is_int(egs_policy_njobs(s.p), 1, "and no other");
	story_tick(&s, INT64_C(2) * 86400);
	ok(!story_row(&s, 1).preempt_budget_used,
	   "the next day it has a new one");
	story_end(&s);
}

static void ids_are_used_again(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(1, RED, RESEARCH, 4);

	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	ev.job.nonce = 77;
	ev.facts.team = BLUE;
	story_step(&s, 10, &ev);
	is_int(s.seen[EGS_ACT_ID_REUSED], 1,
	       "another nonce closes the old job");
	ok(s.last[EGS_ACT_ID_REUSED].job.nonce == 1001, "and says which");
	is_int(egs_policy_quota_use(s.p, RED, STORY_GPU).owned, 0,
	       "its GPUs are back");
	is_int(egs_policy_job(s.p, 1)->facts.team, BLUE,
	       "the new one is blue's");
	ev.kind = EGS_EV_SAVED;
	ev.job.nonce = 1001;
	story_step(&s, 20, &ev);
	ok(!egs_policy_job(s.p, 1)->reports_saves,
	   "the old one's words are ignored");
	ev.kind = EGS_EV_ENDED;
	story_step(&s, 30, &ev);
	is_int(egs_policy_njobs(s.p), 1, "its end ends nobody");
	story_end(&s);
}

/* The daemon looks every few seconds and may miss a requeue. */
static void a_missed_requeue(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(1, RED, RESEARCH, 4);

	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	ev.job.restarts = 1;
	ev.job.submit = 50;
	story_step(&s, 60, &ev);
	ok(!egs_policy_job(s.p, 1)->running, "a higher count: it was requeued");
	is_int(egs_policy_quota_use(s.p, RED, STORY_GPU).owned, 0,
	       "and holds nothing");
	story_end(&s);
}

static void a_job_changes_size(void)
{
	struct story s = story_new();

	story_run(&s, 0, 1, RED, RESEARCH, 0, 2);
	story_run(&s, 0, 2, RED, RESEARCH, 1, 4);
	story_start(&s, 10, 1, 0, 4);
	ok(!story_row(&s, 1).on_loan, "it grows inside the quota: owned");
	is_int(egs_policy_quota_use(s.p, RED, STORY_GPU).owned, 8, "8 of 8");
	story_start(&s, 20, 2, 1, 1);
	is_int(egs_policy_quota_use(s.p, RED, STORY_GPU).owned, 5, "5 of 8");
	is_int(egs_policy_job(s.p, 2)->started, 0, "its start stays");
	story_end(&s);
}

int main(void)
{
	plan_none();
	a_victim_saves_and_yields();
	a_victim_is_released();
	it_waits_for_one();
	the_taker_is_shown_later();
	nobody_saw_it_asked();
	what_is_lost();
	slurm_sets_the_deadline();
	an_operator_asks();
	an_exit_is_an_end_or_not();
	a_requeue_shows_in_the_count();
	nobody_saw_it_go();
	a_deadline_passes();
	slurm_waits_longer();
	one_is_spared();
	an_answer_is_not_kept();
	grace();
	a_hundred_empty_yields();
	no_requeue();
	budget();
	ids_are_used_again();
	a_missed_requeue();
	a_job_changes_size();
	return done_testing();
}
