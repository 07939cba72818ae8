/* policy_wish.c - a person aborts, holds or releases a job */
#include "t/lib/unit/policy_fixture.h"
#include "t/lib/unit/tap.h"

enum { JOB = 1, OTHER };

static const struct egs_job *job(const struct story *s)
{
	return egs_policy_job(s->p, JOB);
}

static void wish(struct story *s, egs_time_t now, uint32_t what)
{
	struct egs_event ev = story_event(s, JOB, EGS_EV_WISH);

	ev.wish = what;
	ev.reason = "wrong labels";
	ev.operator_name = "root";
	story_step(s, now, &ev);
}

/* Slurm shows the job pending, held by its owner or an administrator. */
static void show_held(struct story *s, egs_time_t now, bool by_admin)
{
	struct egs_event ev = story_event(s, JOB, EGS_EV_UPDATED);

	ev.facts = job(s)->facts;
	ev.facts.held = true;
	ev.facts.held_by_admin = by_admin;
	ev.facts.not_schedulable = true;
	story_step(s, now, &ev);
}

static void yield(struct story *s, egs_time_t now)
{
	struct egs_event ev = story_event(s, JOB, EGS_EV_YIELDED);

	ev.request_no = job(s)->request_no;
	story_step(s, now, &ev);
}

static void a_running_job_checkpoints_first(void)
{
	struct story s = story_new();

	story_run(&s, 0, JOB, RED, RESEARCH, 0, 4);
	wish(&s, 10, EGS_WISH_CANCEL);
	is_int(s.seen[EGS_ACT_RECORD_REQUEST], 1,
	       "an aborted job that runs is asked to checkpoint");
	is_str(s.last[EGS_ACT_RECORD_REQUEST].reason, "wrong labels",
	       "the notice of an aborted job has the reason of the abort");
	is_str(s.last[EGS_ACT_RECORD_REQUEST].operator_name, "root",
	       "the notice of an aborted job names who aborts it");
	is_int(s.seen[EGS_ACT_CANCEL], 0,
	       "an aborted job is not cancelled before it has saved");
	ok(!egs_policy_exit_requeues(s.p, JOB),
	   "an exit of an aborted job is final");
	yield(&s, 20);
	is_int(s.seen[EGS_ACT_CANCEL], 1,
	       "an aborted job is cancelled when it yields");
	is_int(s.seen[EGS_ACT_REQUEUE], 0,
	       "an aborted job is not requeued when it yields");
	story_end(&s);
}

static void a_job_does_not_answer(void)
{
	struct story s = story_new();

	s.conf->tier[RESEARCH].at_deadline = EGS_FATE_NONE;
	story_run(&s, 0, JOB, RED, RESEARCH, 0, 4);
	wish(&s, 10, EGS_WISH_CANCEL);
	story_tick(&s, job(&s)->deadline);
	is_int(s.seen[EGS_ACT_CANCEL], 1,
	       "AtDeadline=spare does not spare an aborted job");
	story_end(&s);
}

static void a_cancel_at_the_deadline_is_lost(void)
{
	struct story s = story_new();
	egs_time_t deadline;

	story_run(&s, 0, JOB, RED, RESEARCH, 0, 4);
	wish(&s, 10, EGS_WISH_CANCEL);
	deadline = job(&s)->deadline;
	story_tick(&s, deadline);
	story_tick(&s, deadline + 15);
	is_int(s.seen[EGS_ACT_CANCEL], 1,
	       "a cancel at the deadline that gets lost is repeated");
	story_tick(&s, deadline + 30);
	is_int(s.seen[EGS_ACT_CANCEL], 1,
	       "a cancel is repeated until the job is gone");
	story_end(&s);
}

static void a_job_cannot_be_asked(void)
{
	struct story s = story_new();
	struct egs_event ev;

	story_run(&s, 0, JOB, RED, RESEARCH, 0, 4);
	wish(&s, 10, EGS_WISH_CANCEL | EGS_WISH_SKIP);
	is_int(s.seen[EGS_ACT_CANCEL], 1,
	       "a job aborted with checkpoint=skip is cancelled at once");
	story_tick(&s, 24);
	is_int(s.seen[EGS_ACT_CANCEL], 0,
	       "a cancel is not repeated within 15 s");
	story_tick(&s, 25);
	is_int(s.seen[EGS_ACT_CANCEL], 1,
	       "a cancel that shows no effect is repeated after 15 s");
	story_tell(&s, 26, JOB, EGS_EV_ENDED);
	story_tick(&s, 60);
	is_int(s.seen[EGS_ACT_CANCEL], 0, "a job that has ended is left alone");
	story_end(&s);

	s = story_new();
	ev = story_job(JOB, RED, RESEARCH, 4);
	ev.facts.tier = -1;
	story_step(&s, 0, &ev);
	story_start(&s, 1, JOB, 0, 4);
	wish(&s, 10, EGS_WISH_REQUEUE);
	is_int(s.seen[EGS_ACT_REQUEUE_HOLD], 1,
	       "an unmanaged job is requeued and held without a notice");
	story_end(&s);
}

static void a_pending_job(void)
{
	struct story s = story_new();

	story_submit(&s, 0, JOB, RED, RESEARCH, 4);
	wish(&s, 10, EGS_WISH_CANCEL);
	is_int(s.seen[EGS_ACT_CANCEL_PENDING], 1,
	       "an aborted job that waits is cancelled only if it has not "
	       "started");
	story_start(&s, 11, JOB, 0, 4);
	is_int(s.seen[EGS_ACT_RECORD_REQUEST], 1,
	       "an aborted job that starts meanwhile is asked to checkpoint");
	story_end(&s);
}

static void a_requeued_job_is_held(void)
{
	struct story s = story_new();

	story_run(&s, 0, JOB, RED, RESEARCH, 0, 4);
	wish(&s, 10, EGS_WISH_REQUEUE | EGS_WISH_BY_ADMIN);
	ok(egs_policy_exit_requeues(s.p, JOB),
	   "an exit requeues a job that is to be requeued and held");
	yield(&s, 20);
	is_int(s.seen[EGS_ACT_REQUEUE_HOLD], 1,
	       "a job aborted with requeue=hold is requeued held");
	is_int(s.seen[EGS_ACT_REQUEUE], 0,
	       "a job aborted with requeue=hold is never requeued to start");
	story_tell(&s, 21, JOB, EGS_EV_REQUEUED);
	is_int(s.seen[EGS_ACT_HOLD_ADMIN], 1,
	       "an operator's hold follows the requeue");
	is_int(s.seen[EGS_ACT_RELEASE], 0,
	       "a job that is to be held is not released to start at once");
	show_held(&s, 22, false);
	ok(job(&s)->wish, "a hold by the owner is not an operator's hold");
	show_held(&s, 23, true);
	ok(!job(&s)->wish, "the wish is fulfilled when Slurm shows the hold");
	story_end(&s);
}

static void holds_and_releases(void)
{
	struct story s = story_new();

	story_submit(&s, 0, JOB, RED, RESEARCH, 4);
	wish(&s, 10, EGS_WISH_HOLD);
	is_int(s.seen[EGS_ACT_HOLD], 1, "a job that waits is held");
	story_start(&s, 11, JOB, 0, 4);
	ok(!job(&s)->wish && job(&s)->running,
	   "a job that starts before it is held runs on");
	story_end(&s);

	s = story_new();
	story_submit(&s, 0, JOB, RED, RESEARCH, 4);
	show_held(&s, 10, true);
	wish(&s, 11, EGS_WISH_RELEASE);
	is_int(s.seen[EGS_ACT_UNHOLD] + s.seen[EGS_ACT_UNHOLD_ADMIN], 0,
	       "an owner's release does not end an operator's hold");
	ok(!job(&s)->wish, "a release that is not allowed is forgotten");
	wish(&s, 12, EGS_WISH_RELEASE | EGS_WISH_BY_ADMIN);
	is_int(s.seen[EGS_ACT_UNHOLD_ADMIN], 1,
	       "an operator's release ends an operator's hold");
	story_end(&s);
}

/* A task gets a job id of its own when it starts. */
static void a_task_starts_meanwhile(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(JOB, RED, RESEARCH, 4);

	ev.facts.array_rest = true;
	story_step(&s, 0, &ev);
	wish(&s, 10, EGS_WISH_CANCEL);
	ev = story_job(OTHER, RED, RESEARCH, 4);
	ev.job.nonce = job(&s)->ident.nonce;
	ev.job.array_task = 3;
	story_step(&s, 11, &ev);
	ok(egs_policy_job(s.p, OTHER)->wish,
	   "a task of an aborted array that starts meanwhile is aborted");
	ev = story_job(OTHER + 2, RED, RESEARCH, 4);
	ev.job.nonce = job(&s)->ident.nonce;
	ev.job.array_task = 4;
	ev.job.restarts = 1;
	story_step(&s, 11, &ev);
	ok(!egs_policy_job(s.p, OTHER + 2)->wish,
	   "a task that is requeued after an abort of its array stays");
	ev = story_job(OTHER + 1, RED, RESEARCH, 4);
	ev.job.nonce = job(&s)->ident.nonce;
	ev.job.array_task = 3;
	ev.job.uid = 77;
	story_step(&s, 12, &ev);
	ok(!egs_policy_job(s.p, OTHER + 1)->wish,
	   "a job of another user with the nonce of an aborted array is not "
	   "aborted");
	story_end(&s);
}

/* The next daemon knows the wish and fulfils it. */
static void a_daemon_is_killed(void)
{
	struct story s = story_new();
	struct egs_job_history past = { 0 };
	struct egs_event ev;

	story_submit(&s, 0, JOB, RED, RESEARCH, 4);
	wish(&s, 10, EGS_WISH_CANCEL | EGS_WISH_SKIP);
	egs_policy_job_history(job(&s), &past);
	story_end(&s);

	s = story_new();
	ev = story_job(JOB, RED, RESEARCH, 4);
	ev.history = &past;
	story_step(&s, 20, &ev);
	is_int(s.seen[EGS_ACT_CANCEL_PENDING], 1,
	       "the next daemon cancels a job that was aborted before");
	story_end(&s);
}

static void a_job_is_preempted_already(void)
{
	struct story s = story_new();

	story_run(&s, 0, JOB, RED, SCAVENGE, 0, 4);
	story_submit(&s, 1, OTHER, BLUE, PROD, 4);
	story_preempt(&s, 10, JOB, OTHER);
	wish(&s, 11, EGS_WISH_CANCEL);
	is_int(s.seen[EGS_ACT_RECORD_REQUEST], 0,
	       "a job that is preempted already gets no second notice");
	yield(&s, 12);
	is_int(s.seen[EGS_ACT_CANCEL], 1,
	       "a yield ends a job that is aborted while it is preempted");
	story_end(&s);
}

static void het_and_observed_jobs(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(JOB, RED, RESEARCH, 4);

	ev.job.het_offset = 1;
	story_step(&s, 0, &ev);
	wish(&s, 10, EGS_WISH_CANCEL);
	is_int(s.seen[EGS_ACT_CANCEL_PENDING], 0,
	       "a later component of a het job is left to the first one");
	story_end(&s);

	s = story_new();
	story_submit(&s, 0, JOB, RED, RESEARCH, 4);
	egs_policy_set_team_observed(s.p, RED, true);
	wish(&s, 10, EGS_WISH_CANCEL);
	is_int(s.seen[EGS_ACT_CANCEL_PENDING], 0,
	       "a job of a team that EGS only observes is not cancelled");
	story_end(&s);
}

int main(void)
{
	a_running_job_checkpoints_first();
	a_job_does_not_answer();
	a_cancel_at_the_deadline_is_lost();
	a_job_cannot_be_asked();
	a_pending_job();
	a_requeued_job_is_held();
	holds_and_releases();
	a_task_starts_meanwhile();
	a_daemon_is_killed();
	a_job_is_preempted_already();
	het_and_observed_jobs();
	return done_testing();
}
