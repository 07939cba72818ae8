/* policy_preempt.c - notice, save, yield, requeue, restart; reused job ids */
#include "t/lib/unit/policy_fixture.h"
#include "t/lib/unit/tap.h"

static void yield_to(struct story *s, egs_time_t now, uint32_t id,
		     uint32_t request)
{
	struct egs_event ev = story_event(s, id, EGS_EV_YIELDED);

	ev.request_no = request;
	story_step(s, now, &ev);
}

static void a_victim_saves_and_yields(void)
{
	struct story s = story_new();

	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	yield_to(&s, 5, 1, 0);
	is_int(s.seen[EGS_ACT_REQUEUE], 0,
	       "a yield without a preemption notice does nothing");
	story_preempt(&s, 10, 1, 2);
	is_int(egs_policy_job(s.p, 1)->deadline, 10 + 120,
	       "a job that never reported a save gets GraceNoAck as its grace "
	       "period");
	yield_to(&s, 20, 1, 0);
	is_int(s.seen[EGS_ACT_REQUEUE], 0,
	       "a yield for an old notice does not count");
	yield_to(&s, 30, 1, 1);
	is_int(s.seen[EGS_ACT_REQUEUE], 1,
	       "a yield for the present notice requeues the job");
	is_int(s.last[EGS_ACT_REQUEUE].requester, 2,
	       "the requeue names the requester");
	yield_to(&s, 31, 1, 1);
	is_int(s.seen[EGS_ACT_REQUEUE], 0,
	       "a second yield for the same notice is ignored");
	story_tell(&s, 40, 1, EGS_EV_REQUEUED);
	is_int(s.seen[EGS_ACT_RELEASE], 1,
	       "a requeued victim without a waiting requester is released");
	story_tick(&s, 1000);
	is_int(s.seen[EGS_ACT_REQUEUE], 0,
	       "a requeued victim has no deadline any more");
	story_end(&s);
}

static void set_completing(struct story *s, egs_time_t now, uint32_t id,
			   bool completing)
{
	struct egs_event ev = story_event(s, id, EGS_EV_UPDATED);

	ev.facts = egs_policy_job(s->p, id)->facts;
	ev.facts.completing = completing;
	story_step(s, now, &ev);
}

/* Released too early, the victim could start before its requester.  Slurm sets
 * the begin time again when the last process has ended.
 */
static void a_victim_is_released(void)
{
	struct story s = story_new();

	story_run(&s, 0, 1, RED, SCAVENGE, 0, 4);
	story_submit(&s, 1, 2, BLUE, PROD, 4);
	story_preempt(&s, 10, 1, 0);
	is_int(egs_policy_job(s.p, 1)->requester, 2,
	       "without a named requester, the first job in the queue that may "
	       "preempt is it");
	is_int(s.seen[EGS_ACT_RECORD_REQUEST], 1,
	       "a new preemption notice is recorded");
	set_completing(&s, 12, 1, true);
	story_tell(&s, 13, 1, EGS_EV_REQUEUED);
	is_int(s.seen[EGS_ACT_RECORD_DEPARTURE], 1,
	       "the departure of a requeued victim is recorded");
	is_int(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.lost_work_s, 0,
	       "a job with a checkpoint that exits in time loses no work");
	is_int(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.held_s, 3,
	       "the record counts the seconds between notice and departure");
	is_int(s.seen[EGS_ACT_RELEASE], 0,
	       "a victim is not released while its processes still complete");
	set_completing(&s, 14, 1, false);
	is_int(s.seen[EGS_ACT_RELEASE], 0,
	       "a victim is not released before its requester starts");
	story_start(&s, 15, 2, 0, 4);
	is_int(s.seen[EGS_ACT_RELEASE], 1,
	       "a victim is released when its requester starts");
	story_tick(&s, 16);
	is_int(s.seen[EGS_ACT_RELEASE], 0, "a victim is released only once");
	story_start(&s, 20, 1, 1, 4);
	is_int(s.seen[EGS_ACT_RECORD_RESTART], 1,
	       "the restart of a victim is recorded");
	is_int(s.last[EGS_ACT_RECORD_RESTART].preempt.request_no, 1,
	       "the record of the restart has the number of the notice");
	is_int(egs_policy_grace(s.p, 1), 30,
	       "a save of three seconds gives the grace period GraceMin");
	story_end(&s);
}

/* Job 2 may preempt the victim as well, and comes first in the queue. */
static void a_victim_waits_for_its_requester(void)
{
	struct story s = story_new();

	story_run(&s, 0, 1, RED, SCAVENGE, 0, 4);
	story_submit(&s, 1, 2, BLUE, PROD, 4);
	story_submit(&s, 2, 3, BLUE, PROD, 4);
	story_preempt(&s, 10, 1, 3);
	story_tell(&s, 12, 1, EGS_EV_REQUEUED);
	is_int(egs_policy_job(s.p, 1)->departed_for, 3,
	       "a requeued victim waits for the requester that was named");
	story_start(&s, 13, 3, 0, 4);
	is_int(s.seen[EGS_ACT_RELEASE], 1,
	       "a victim is released when the named requester starts, though "
	       "another waits");
	story_end(&s);
}

/* The poll shows the victim first. */
static void the_requester_is_shown_later(void)
{
	struct story s = story_new();
	struct egs_event ev;

	story_run(&s, 0, 1, RED, SCAVENGE, 0, 4);
	ev = story_event(&s, 1, EGS_EV_PREEMPTING);
	egs_policy_apply(s.p, &ev, 10);
	story_submit(&s, 10, 2, BLUE, PROD, 4);
	is_int(s.seen[EGS_ACT_RECORD_REQUEST], 1,
	       "a notice is recorded when all jobs of the poll are known");
	is_int(s.last[EGS_ACT_RECORD_REQUEST].requester, 2,
	       "a requester that is shown after its victim is found");
	story_tick(&s, 11);
	is_int(s.seen[EGS_ACT_RECORD_REQUEST], 0,
	       "a notice is recorded only once");
	story_tell(&s, 12, 1, EGS_EV_REQUEUED);
	story_start(&s, 13, 1, 0, 4);
	ev = story_event(&s, 1, EGS_EV_PREEMPTING);
	story_tell(&s, 14, 2, EGS_EV_ENDED);
	egs_policy_apply(s.p, &ev, 15);
	story_tell(&s, 15, 1, EGS_EV_REQUEUED);
	is_int(s.seen[EGS_ACT_RECORD_REQUEST] +
		       s.seen[EGS_ACT_RECORD_DEPARTURE],
	       2,
	       "a job that departs before the update has both its notice and "
	       "departure recorded");
	story_end(&s);
}

/* Requeued by its owner, or preempted and requeued between two polls. */
static void the_notice_was_not_seen(void)
{
	struct story s = story_new();
	struct egs_event ev;

	story_run(&s, 0, 1, RED, SCAVENGE, 0, 4);
	story_submit(&s, 1, 2, BLUE, PROD, 4);
	story_tell(&s, 10, 1, EGS_EV_REQUEUED);
	is_int(s.seen[EGS_ACT_RECORD_DEPARTURE], 0,
	       "a requeue without a notice is no departure of a victim");
	story_start(&s, 12, 2, 1, 4);
	is_int(s.seen[EGS_ACT_RELEASE], 0,
	       "a job that requeues itself waits for Slurm's delay");
	ev = story_event(&s, 1, EGS_EV_UPDATED);
	ev.facts = egs_policy_job(s.p, 1)->facts;
	ev.facts.departed = true;
	story_step(&s, 13, &ev);
	is_int(s.seen[EGS_ACT_RELEASE], 1,
	       "a job that slurmctld has preempted is released");
	story_end(&s);
}

static void what_is_lost(void)
{
	struct story s = story_new();

	story_run(&s, 0, 1, RED, SCAVENGE, 0, 4);
	story_submit(&s, 1, 9, BLUE, PROD, 4);
	story_saved(&s, 100, 1, 5);
	story_preempt(&s, 130, 1, 9);
	story_tick(&s, 160);
	is_int(s.seen[EGS_ACT_REQUEUE], 1,
	       "a job that has not yielded is requeued at its deadline");
	story_tell(&s, 162, 1, EGS_EV_REQUEUED);
	ok(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.late,
	   "the record of a job requeued at its deadline says late");
	is_int(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.lost_work_s, 30,
	       "a late job loses the work since its last save");
	is_int(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.held_s, 32,
	       "a late job also loses the time between notice and requeue");
	story_start(&s, 200, 1, 0, 4);
	story_preempt(&s, 210, 1, 9);
	story_tell(&s, 240, 1, EGS_EV_REQUEUED);
	ok(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.late,
	   "a job that Slurm requeues at the deadline before we do is late");
	story_start(&s, 300, 1, 0, 4);
	story_preempt(&s, 310, 1, 9);
	story_tell(&s, 315, 1, EGS_EV_ENDED);
	ok(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.ended,
	   "the record of a job that ends instead of a requeue says ended");
	story_end(&s);
}

/* Slurm sends no signal, so the policy has the declared one sent. */
static void an_operator_preempts(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(1, RED, SCAVENGE, 4);

	ev.facts.signal = 10;
	story_step(&s, 0, &ev);
	story_start(&s, 0, 1, 0, 4);
	story_submit(&s, 1, 2, BLUE, PROD, 4);
	story_preempt(&s, 5, 1, 2);
	is_int(s.seen[EGS_ACT_SIGNAL], 0,
	       "a preemption by Slurm sends no second signal");
	story_tell(&s, 6, 1, EGS_EV_REQUEUED);
	story_start(&s, 7, 1, 0, 4);
	ev = story_event(&s, 1, EGS_EV_PREEMPTING);
	ev.notify_job = true;
	ev.reason = "maintenance";
	ev.operator_name = "alice";
	story_step(&s, 10, &ev);
	is_int(s.seen[EGS_ACT_SIGNAL], 1,
	       "a preemption by an operator sends the signal of the job");
	is_str(s.last[EGS_ACT_RECORD_REQUEST].reason, "maintenance",
	       "the record of an operator's preemption has the reason");
	is_str(s.last[EGS_ACT_RECORD_REQUEST].operator_name, "alice",
	       "the record of an operator's preemption names the operator");
	is_int(egs_policy_job(s.p, 1)->requester, 0,
	       "a preemption by an operator has no requester");
	story_end(&s);
}

static void an_exit_is_final_or_a_yield(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(2, RED, SCAVENGE, 4);

	story_run(&s, 0, 1, RED, SCAVENGE, 0, 4);
	ok(egs_policy_exit_requeues(s.p, 1),
	   "an exit of a job with a checkpoint counts as a yield");
	story_preempt(&s, 10, 1, 9);
	is_int(s.seen[EGS_ACT_EXIT_IS_FINAL], 0,
	       "slurmctld is not told when an exit counts as a yield");
	story_tell(&s, 11, 1, EGS_EV_FINISHED);
	ok(!egs_policy_exit_requeues(s.p, 1),
	   "an exit of a job that has finished is final");
	is_int(s.seen[EGS_ACT_EXIT_IS_FINAL], 1,
	       "slurmctld is told when a job being preempted finishes");
	story_tell(&s, 12, 1, EGS_EV_REQUEUED);
	story_start(&s, 20, 1, 0, 4);
	ok(egs_policy_exit_requeues(s.p, 1),
	   "finishing counts for one run only");
	ev.facts.ckpt = false;
	story_step(&s, 30, &ev);
	story_start(&s, 30, 2, 1, 4);
	ok(!egs_policy_exit_requeues(s.p, 2),
	   "an exit of a job without a checkpoint is final");
	story_preempt(&s, 31, 2, 9);
	is_int(s.seen[EGS_ACT_EXIT_IS_FINAL], 1,
	       "slurmctld is told at once that the exit of a job without "
	       "checkpoint is final");
	ev = story_job(3, RED, SCAVENGE, 4);
	ev.facts.exit_is_final = true;
	story_step(&s, 40, &ev);
	ok(!egs_policy_exit_requeues(s.p, 3),
	   "an exit of a job with exit=finish is final");
	yield_to(&s, 41, 2, egs_policy_job(s.p, 2)->request_no);
	ok(egs_policy_exit_requeues(s.p, 2),
	   "an exit after a yield is not final");
	story_tell(&s, 42, 2, EGS_EV_REQUEUED);
	ok(!egs_policy_exit_requeues(s.p, 2),
	   "a yield counts for one run only");
	story_end(&s);
}

static void a_requeue_shows_in_the_count(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(1, RED, RESEARCH, 4);

	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_preempt(&s, 10, 1, 2);
	ev.job.restarts = 1;
	ev.job.submit = 20;
	story_step(&s, 20, &ev);
	is_int(s.seen[EGS_ACT_RELEASE], 1,
	       "a higher restart count counts as a requeue");
	is_int(s.last[EGS_ACT_RELEASE].job.restarts, 1,
	       "actions after an unseen requeue are about the new attempt");
	story_end(&s);
}

/* The preemption was not polled, but slurmctld has noted it in the job. */
static void the_requeue_was_not_seen(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(1, RED, RESEARCH, 4);

	ev.facts.departed = ev.facts.completing = true;
	story_step(&s, 20, &ev);
	is_int(s.seen[EGS_ACT_RELEASE], 0,
	       "an unseen victim is not released while its processes still "
	       "complete");
	ev.facts.completing = false;
	story_step(&s, 21, &ev);
	is_int(s.seen[EGS_ACT_RELEASE], 1, "an unseen victim is released");
	ev.facts.not_schedulable = true;
	story_step(&s, 22, &ev);
	story_tick(&s, 90);
	is_int(s.seen[EGS_ACT_RELEASE], 0,
	       "an unseen victim is released only once");
	story_end(&s);
}

/* The store failed: the job sends the same message again. */
static void a_message_is_not_stored(void)
{
	struct story s = story_new();
	struct egs_event ev;

	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_preempt(&s, 10, 1, 2);
	yield_to(&s, 20, 1, 1);
	ev = story_event(&s, 1, EGS_EV_REVOKED);
	ev.request_no = 1;
	story_step(&s, 21, &ev);
	yield_to(&s, 22, 1, 1);
	is_int(s.seen[EGS_ACT_REQUEUE], 1,
	       "a yield that was revoked counts when it is sent again");
	story_tick(&s, 130);
	is_int(s.seen[EGS_ACT_REQUEUE], 1,
	       "a job that yielded and still runs at its deadline is requeued "
	       "again");
	story_tell(&s, 131, 1, EGS_EV_REQUEUED);
	ok(!s.last[EGS_ACT_RECORD_DEPARTURE].preempt.late,
	   "a job that yielded before its deadline is not late");
	story_start(&s, 140, 1, 0, 4);
	story_preempt(&s, 150, 1, 2);
	story_tell(&s, 151, 1, EGS_EV_FINISHED);
	ev.request_no = 0;
	ev.job = egs_policy_job(s.p, 1)->ident;
	story_step(&s, 152, &ev);
	ok(egs_policy_exit_requeues(s.p, 1),
	   "after a revoked finish an exit counts as a yield");
	story_tell(&s, 153, 1, EGS_EV_FINISHED);
	is_int(s.seen[EGS_ACT_EXIT_IS_FINAL], 1,
	       "a finish sent again after it was revoked makes the exit final");
	story_end(&s);
}

/* The job yields at once without saving, and restarts in the next second. */
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
	is_int(requeued, 100, "each of a hundred yields requeues the job");
	is_int(released, 20,
	       "a job that yields again and again is released every five "
	       "seconds at most");
	ok(story_may_take(&s, 9, 1),
	   "a job that yields again and again can still be preempted");
	is_int(egs_policy_grace(s.p, 1), 120,
	       "yields in the second of the notice are no save times");
	story_end(&s);
}

static void a_job_cannot_save(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(1, RED, SCAVENGE, 4);

	ev.facts.ckpt = false;
	ev.facts.no_save = true;
	story_step(&s, 0, &ev);
	story_start(&s, 0, 1, 0, 4);
	is_int(egs_policy_grace(s.p, 1), 0,
	       "a job that cannot save has no grace period");
	is_int(egs_policy_answer_time(s.p, 1), 120,
	       "a job that cannot save has time to answer a request to shrink");
	story_end(&s);
}

static void a_job_has_no_run_directory(void)
{
	struct story s = story_new();

	story_submit(&s, 0, 1, RED, SCAVENGE, 4);
	story_start(&s, 0, 1, 0, 4);
	story_tell(&s, 1, 1, EGS_EV_UNREACHABLE);
	story_submit(&s, 1, 2, BLUE, PROD, 4);
	story_preempt(&s, 5, 1, 2);
	is_int(s.seen[EGS_ACT_SIGNAL], 1,
	       "a job without a run directory gets a signal");
	story_tell(&s, 6, 1, EGS_EV_REQUEUED);
	story_start(&s, 7, 1, 0, 4);
	story_preempt(&s, 8, 1, 2);
	is_int(s.seen[EGS_ACT_SIGNAL], 0,
	       "the next run of a job without a run directory gets none");
	story_end(&s);
}

static void no_requeue(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(1, RED, RESEARCH, 8);

	ev.facts.can_requeue = false;
	story_step(&s, 0, &ev);
	story_start(&s, 0, 1, 0, 4);
	story_submit(&s, 1, 2, BLUE, PROD, 4);
	story_tick(&s, 2 * STORY_MIN_RUNTIME);
	ok(!story_may_take(&s, 2, 1),
	   "a job within quota that cannot be requeued is not preempted");
	ev = story_job(3, RED, SCAVENGE, 4);
	ev.facts.can_requeue = false;
	story_step(&s, s.now, &ev);
	story_start(&s, s.now, 3, 1, 4);
	ok(story_may_take(&s, 2, 3),
	   "a job on loan that cannot be requeued is preempted");
	story_preempt(&s, s.now, 3, 2);
	yield_to(&s, s.now, 3, 1);
	is_int(s.seen[EGS_ACT_CANCEL], 1,
	       "a job on loan that cannot be requeued is cancelled when it "
	       "yields");
	story_end(&s);
}

static void budget(void)
{
	struct story s = story_new();

	story_submit(&s, 0, 1, RED, RESEARCH, 4);
	for (egs_time_t i = 0; i < 3; i++) {
		ok(!story_row(&s, 1).preempt_budget_used,
		   "after %d preemption(s) MaxPreemptions is not reached",
		   (int)i);
		story_start(&s, 100 * i, 1, 0, 4);
		story_preempt(&s, 100 * i + 10, 1, 2);
		story_tell(&s, 100 * i + 20, 1, EGS_EV_REQUEUED);
	}
	ok(story_row(&s, 1).preempt_budget_used,
	   "three preemptions in a day reach MaxPreemptions");
	is_int(egs_policy_job(s.p, 1)->ident.restarts, 3,
	       "three requeues are restarts of the same job");
	is_int(egs_policy_njobs(s.p), 1, "three requeues add no other job");
	story_tick(&s, INT64_C(2) * 86400);
	ok(!story_row(&s, 1).preempt_budget_used,
	   "a new period begins a day later with no preemptions");
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
	       "a job with another nonce under the same id ends the old job");
	ok(s.last[EGS_ACT_ID_REUSED].job.nonce == 1001,
	   "the action names the old job");
	is_int(egs_policy_quota_use(s.p, RED, STORY_GPU).owned, 0,
	       "the GPUs of the old job are no longer counted");
	is_int(egs_policy_job(s.p, 1)->facts.team, BLUE,
	       "the new job under the same id has its own team");
	ev.kind = EGS_EV_SAVED;
	ev.job.nonce = 1001;
	story_step(&s, 20, &ev);
	ok(!egs_policy_job(s.p, 1)->reports_saves,
	   "a message of the old job is ignored");
	ev.kind = EGS_EV_ENDED;
	story_step(&s, 30, &ev);
	is_int(egs_policy_njobs(s.p), 1,
	       "the end of the old job does not end the new one");
	story_end(&s);
}

/* The daemon polls every few seconds and may miss a requeue. */
static void a_missed_requeue(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(1, RED, RESEARCH, 4);

	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	ev.job.restarts = 1;
	ev.job.submit = 50;
	story_step(&s, 60, &ev);
	ok(!egs_policy_job(s.p, 1)->running,
	   "a job with a higher restart count is no longer running");
	is_int(egs_policy_quota_use(s.p, RED, STORY_GPU).owned, 0,
	       "a job whose requeue was missed holds no GPUs");
	story_end(&s);
}

static void a_job_changes_size(void)
{
	struct story s = story_new();

	story_run(&s, 0, 1, RED, RESEARCH, 0, 2);
	story_run(&s, 0, 2, RED, RESEARCH, 1, 4);
	story_start(&s, 10, 1, 0, 4);
	ok(!story_row(&s, 1).on_loan,
	   "a job that grows within the quota is owned");
	is_int(egs_policy_quota_use(s.p, RED, STORY_GPU).owned, 8,
	       "a job that grew from 2 to 4 GPUs counts with 4");
	story_start(&s, 20, 2, 1, 1);
	is_int(egs_policy_quota_use(s.p, RED, STORY_GPU).owned, 5,
	       "a job that shrank from 4 GPUs to 1 counts with 1");
	is_int(egs_policy_job(s.p, 2)->started, 0,
	       "a resize does not change the start of the job");
	story_end(&s);
}

int main(void)
{
	plan_none();
	a_victim_saves_and_yields();
	a_victim_is_released();
	a_victim_waits_for_its_requester();
	the_requester_is_shown_later();
	the_notice_was_not_seen();
	what_is_lost();
	an_operator_preempts();
	an_exit_is_final_or_a_yield();
	a_requeue_shows_in_the_count();
	the_requeue_was_not_seen();
	a_message_is_not_stored();
	a_hundred_empty_yields();
	a_job_cannot_save();
	a_job_has_no_run_directory();
	no_requeue();
	budget();
	ids_are_used_again();
	a_missed_requeue();
	a_job_changes_size();
	return done_testing();
}
