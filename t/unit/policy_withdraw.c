/* policy_withdraw.c - a preemption is withdrawn, and the job runs on */
#include "t/lib/unit/policy_fixture.h"
#include "t/lib/unit/tap.h"

enum { VICTIM = 1, REQUESTER, OTHER };

static void tell_by(struct story *s, egs_time_t now, uint32_t id,
		    enum egs_event_kind kind, uint32_t by)
{
	struct egs_event ev = story_event(s, id, kind);

	ev.requester = by;
	story_step(s, now, &ev);
}

/* A scavenger runs on node 0, prod needs its GPUs, Slurm preempts it at 10. */
static struct story preempted(bool ckpt)
{
	struct story s = story_new();
	struct egs_event ev = story_job(VICTIM, RED, SCAVENGE, 4);

	ev.facts.ckpt = ckpt;
	story_step(&s, 0, &ev);
	story_start(&s, 1, VICTIM, 0, 4);
	story_submit(&s, 1, REQUESTER, BLUE, PROD, 4);
	tell_by(&s, 10, VICTIM, EGS_EV_PREEMPTING, 0);
	return s;
}

static const struct egs_job *victim(const struct story *s)
{
	return egs_policy_job(s->p, VICTIM);
}

static void claim(struct story *s, egs_time_t now, uint32_t id, uint32_t node)
{
	struct egs_event ev = story_event(s, id, EGS_EV_CLAIMED);
	struct egs_node_alloc part = { .node = node, .gpus = 4 };

	ev.alloc = &part;
	ev.nallocs = 1;
	ev.until = now + 500;
	story_step(s, now, &ev);
}

static void the_requester_is_gone(void)
{
	struct story s = preempted(false);

	story_tick(&s, 20);
	is_int(s.seen[EGS_ACT_WITHDRAW], 0,
	       "a preemption is not withdrawn while the requester waits");
	story_tell(&s, 30, REQUESTER, EGS_EV_ENDED);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1,
	       "a preemption is withdrawn when the requester is cancelled");
	is_int(s.last[EGS_ACT_WITHDRAW].job.job_id, VICTIM,
	       "the withdrawal names the victim");
	ok(victim(&s)->withdrawing,
	   "a job being withdrawn has no visible notice");
	story_tick(&s, 35);
	is_int(s.seen[EGS_ACT_WITHDRAW], 0,
	       "a withdrawal is sent to Slurm once");
	story_tick(&s, 40);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1,
	       "a withdrawal is sent again after ten seconds without "
	       "confirmation");
	story_tell(&s, 41, VICTIM, EGS_EV_WITHDRAWN);
	ok(!victim(&s)->preempting && !victim(&s)->deadline,
	   "a confirmed withdrawal ends the preemption and its deadline");
	ok(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.withdrawn,
	   "a confirmed withdrawal is recorded");
	is_int(victim(&s)->preemptions, 0,
	       "a withdrawn preemption does not count against MaxPreemptions");
	story_tick(&s, 1000);
	is_int(s.seen[EGS_ACT_REQUEUE], 0,
	       "a withdrawn preemption has no deadline that passes later");
	story_end(&s);
}

static void the_requester_is_gone_at_once(void)
{
	struct story s = preempted(false);

	story_tell(&s, 10, REQUESTER, EGS_EV_ENDED);
	is_int(s.seen[EGS_ACT_WITHDRAW], 0,
	       "a preemption is not withdrawn in the second of its notice");
	story_tick(&s, 11);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1,
	       "a preemption is withdrawn in the second after its notice");
	story_end(&s);
}

static void the_requester_starts_or_is_held(void)
{
	struct story s = preempted(false);
	struct egs_event ev = story_job(REQUESTER, BLUE, PROD, 4);

	story_start(&s, 20, REQUESTER, 1, 4);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1,
	       "a preemption is withdrawn when the requester starts elsewhere");
	story_end(&s);

	s = preempted(false);
	ev.facts.not_schedulable = true;
	story_step(&s, 20, &ev);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1,
	       "a preemption is withdrawn when the requester is held");
	story_end(&s);

	s = preempted(false);
	story_tell(&s, 20, REQUESTER, EGS_EV_ENDED);
	story_tell(&s, 21, VICTIM, EGS_EV_REQUEUED);
	story_start(&s, 22, VICTIM, 0, 4);
	ok(!victim(&s)->withdrawing, "a victim that is requeued while being "
				     "withdrawn is no longer withdrawing");
	tell_by(&s, 23, VICTIM, EGS_EV_WITHDRAWN, 0);
	is_int(s.seen[EGS_ACT_RECORD_DEPARTURE], 0,
	       "a confirmation after the requeue records no withdrawal");
	story_end(&s);
}

static void another_needs_it(void)
{
	struct story s = preempted(false);

	story_submit(&s, 11, OTHER, BLUE, PROD, 4);
	claim(&s, 12, OTHER, 0);
	story_tell(&s, 20, REQUESTER, EGS_EV_ENDED);
	is_int(s.seen[EGS_ACT_WITHDRAW], 0,
	       "a preemption is not withdrawn while another job claims the "
	       "GPUs");
	is_int(victim(&s)->requester, OTHER,
	       "a job with a claim on the GPUs becomes the requester");
	is_int(s.last[EGS_ACT_RECORD_REQUEST].requester, OTHER,
	       "the record names the new requester");
	story_tell(&s, 30, OTHER, EGS_EV_ENDED);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1,
	       "a preemption is withdrawn when the second requester is gone");
	story_end(&s);

	s = preempted(false);
	story_submit(&s, 11, OTHER, BLUE, PROD, 4);
	claim(&s, 12, OTHER, 1);
	story_tell(&s, 20, REQUESTER, EGS_EV_ENDED);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1,
	       "a job with a claim on another node does not become the "
	       "requester");
	story_end(&s);
}

/* Slurm withdraws the preemption as asked, and preempts the job again before
 * the next poll.
 */
static void preempt_again(struct story *s, egs_time_t now)
{
	struct egs_event ev = story_event(s, VICTIM, EGS_EV_PREEMPTING);

	ev.since = now;
	story_step(s, now, &ev);
}

static void it_is_preempted_again_at_once(void)
{
	struct story s = preempted(false);

	story_submit(&s, 11, OTHER, BLUE, PROD, 4);
	story_tell(&s, 30, REQUESTER, EGS_EV_ENDED);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1,
	       "a preemption is withdrawn when its requester is gone, though "
	       "others wait");
	preempt_again(&s, 10);
	is_int(s.seen[EGS_ACT_RECORD_DEPARTURE] +
		       s.seen[EGS_ACT_RECORD_REQUEST],
	       0,
	       "an old preemption seen again changes nothing while it is "
	       "withdrawn");
	preempt_again(&s, 31);
	ok(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.withdrawn,
	   "a newer preemption while withdrawing confirms the withdrawal");
	is_int(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.request_no, 1,
	       "the withdrawal is recorded for the first notice");
	is_int(s.last[EGS_ACT_RECORD_REQUEST].preempt.request_no, 2,
	       "the newer preemption has the second notice");
	is_int(s.last[EGS_ACT_RECORD_REQUEST].requester, OTHER,
	       "the second notice names the next job in the queue");
	ok(!victim(&s)->withdrawing, "the newer preemption is not withdrawn");
	story_tick(&s, 60);
	is_int(s.seen[EGS_ACT_WITHDRAW], 0,
	       "the newer preemption stays while its requester waits");
	story_tell(&s, 70, OTHER, EGS_EV_ENDED);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1,
	       "the newer preemption is withdrawn when its requester is gone");
	story_tell(&s, 71, VICTIM, EGS_EV_WITHDRAWN);
	story_tick(&s, 200);
	is_int(s.seen[EGS_ACT_WITHDRAW] + s.seen[EGS_ACT_REQUEUE], 0,
	       "nothing happens after the second withdrawal is confirmed");
	story_end(&s);
}

/* An earlier withdrawal does not change what happens at the second deadline. */
static void it_is_late_the_second_time(void)
{
	struct story s = preempted(false);

	s.conf->tier[SCAVENGE].at_deadline = EGS_FATE_NONE;
	story_submit(&s, 11, OTHER, BLUE, PROD, 4);
	story_tell(&s, 30, REQUESTER, EGS_EV_ENDED);
	preempt_again(&s, 31);
	story_tick(&s, victim(&s)->deadline);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1,
	       "a late job with AtDeadline=spare is withdrawn also at its "
	       "second notice");
	ok(victim(&s)->late && !story_may_take(&s, OTHER, VICTIM),
	   "a job late at its second notice cannot be preempted");
	story_tell(&s, s.now + 1, VICTIM, EGS_EV_WITHDRAWN);
	is_int(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.request_no, 2,
	       "the withdrawal is recorded for the second notice");
	story_end(&s);
}

/* The datagram with the claim of OTHER came late, or not at all. */
static void the_guess_is_wrong(void)
{
	struct story s = preempted(false);

	story_submit(&s, 11, OTHER, BLUE, PROD, 4);
	is_int(victim(&s)->requester, REQUESTER,
	       "the first job in the queue is the guessed requester");
	tell_by(&s, 12, VICTIM, EGS_EV_CHOSEN_VICTIM, OTHER);
	is_int(victim(&s)->requester, OTHER,
	       "a requester that select/egs names replaces the guess");
	is_int(s.last[EGS_ACT_RECORD_REQUEST].requester, OTHER,
	       "a new record names the requester that select/egs named");
	is_int(s.last[EGS_ACT_RECORD_REQUEST].preempt.request_no, 1,
	       "the new record is of the same notice");
	tell_by(&s, 13, VICTIM, EGS_EV_CHOSEN_VICTIM, REQUESTER);
	is_int(s.seen[EGS_ACT_RECORD_REQUEST], 0,
	       "a requester named after the first named one makes no new "
	       "record");
	story_tell(&s, 20, OTHER, EGS_EV_ENDED);
	is_int(s.seen[EGS_ACT_WITHDRAW], 0,
	       "a preemption is not withdrawn while another named job waits");
	is_int(victim(&s)->requester, REQUESTER,
	       "the other named job becomes the requester");
	story_tell(&s, 30, REQUESTER, EGS_EV_ENDED);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1,
	       "a preemption is withdrawn when all named jobs are gone");
	story_end(&s);

	s = story_new();
	story_run(&s, 0, VICTIM, RED, SCAVENGE, 0, 4);
	story_submit(&s, 1, REQUESTER, BLUE, PROD, 4);
	claim(&s, 2, REQUESTER, 1);
	story_submit(&s, 3, OTHER, BLUE, PROD, 4);
	tell_by(&s, 10, VICTIM, EGS_EV_PREEMPTING, 0);
	is_int(victim(&s)->requester, OTHER,
	       "a job with a claim on other nodes is not guessed as requester");
	story_end(&s);
}

static void the_requester_is_named_or_guessed(void)
{
	struct story s = story_new();

	story_run(&s, 0, VICTIM, RED, SCAVENGE, 0, 4);
	story_submit(&s, 1, REQUESTER, BLUE, PROD, 4);
	story_submit(&s, 2, OTHER, BLUE, PROD, 4);
	tell_by(&s, 10, VICTIM, EGS_EV_CHOSEN_VICTIM, OTHER);
	tell_by(&s, 11, VICTIM, EGS_EV_PREEMPTING, 0);
	is_int(victim(&s)->requester, OTHER,
	       "a requester named before the preemption is used");
	story_end(&s);

	s = story_new();
	story_run(&s, 0, VICTIM, RED, SCAVENGE, 0, 4);
	tell_by(&s, 10, VICTIM, EGS_EV_CHOSEN_VICTIM, REQUESTER);
	tell_by(&s, 11, VICTIM, EGS_EV_PREEMPTING, 0);
	is_int(victim(&s)->requester, 0,
	       "a named requester that is not known yet is not used");
	story_submit(&s, 12, REQUESTER, BLUE, PROD, 4);
	is_int(victim(&s)->requester, REQUESTER,
	       "a named requester becomes the requester when it is known");
	is_int(s.last[EGS_ACT_RECORD_REQUEST].requester, REQUESTER,
	       "the record names a requester that became known later");
	story_end(&s);

	s = story_new();
	story_run(&s, 0, VICTIM, RED, SCAVENGE, 0, 4);
	tell_by(&s, 11, VICTIM, EGS_EV_PREEMPTING, 0);
	is_int(victim(&s)->requester, 0,
	       "without a pending job the requester is unknown");
	story_submit(&s, 13, REQUESTER, BLUE, PROD, 4);
	is_int(s.last[EGS_ACT_RECORD_REQUEST].requester, REQUESTER,
	       "a job that is shown some seconds later is guessed as "
	       "requester");
	story_tell(&s, 30, REQUESTER, EGS_EV_ENDED);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1,
	       "a preemption is withdrawn when its guessed requester is gone");
	story_end(&s);

	s = story_new();
	story_run(&s, 0, VICTIM, RED, SCAVENGE, 0, 4);
	tell_by(&s, 11, VICTIM, EGS_EV_PREEMPTING, 0);
	story_submit(&s, 30, REQUESTER, BLUE, PROD, 4);
	is_int(victim(&s)->requester, 0,
	       "a job that is submitted much later is not guessed as "
	       "requester");
	story_end(&s);
}

/* The job may have seen the notice already, and saves and yields. */
static void it_yields_after_a_withdrawal(void)
{
	struct story s = preempted(true);
	struct egs_event ev;

	story_tell(&s, 20, REQUESTER, EGS_EV_ENDED);
	story_tell(&s, 21, VICTIM, EGS_EV_WITHDRAWN);
	is_int(victim(&s)->deadline, 130,
	       "after a withdrawal the old deadline stays for a job with a "
	       "checkpoint");
	ev = story_event(&s, VICTIM, EGS_EV_YIELDED);
	ev.request_no = 1;
	story_step(&s, 30, &ev);
	is_int(s.seen[EGS_ACT_REQUEUE], 1,
	       "a yield after the withdrawal and before the old deadline "
	       "requeues the job");
	story_tell(&s, 31, VICTIM, EGS_EV_REQUEUED);
	ok(!victim(&s)->deadline && !victim(&s)->yielded,
	   "a yield after the withdrawal counts for one run only");
	story_end(&s);

	s = preempted(true);
	story_tell(&s, 20, REQUESTER, EGS_EV_ENDED);
	story_tell(&s, 21, VICTIM, EGS_EV_WITHDRAWN);
	story_tick(&s, 130);
	is_int(s.seen[EGS_ACT_REQUEUE], 0,
	       "after a withdrawal the old deadline requeues no job");
	is_int(victim(&s)->deadline, 0,
	       "after the old deadline the withdrawn preemption is forgotten");
	ok(s.rows_changed, "rows are published when the old deadline passes");
	story_submit(&s, 140, OTHER, BLUE, PROD, 4);
	tell_by(&s, 141, VICTIM, EGS_EV_PREEMPTING, 0);
	is_int(victim(&s)->request_no, 2,
	       "the next preemption has a new notice");
	story_end(&s);
}

static void set_suspended(struct story *s, egs_time_t now, bool suspended)
{
	struct egs_event ev = story_job(VICTIM, RED, SCAVENGE, 4);

	ev.facts.ckpt = victim(s)->facts.ckpt;
	ev.facts.suspended = suspended;
	story_step(s, now, &ev);
}

/* A suspended job can neither save nor exit. */
static void it_is_suspended(void)
{
	struct story s = preempted(false);
	uint32_t found;

	story_run(&s, 10, 11, BLUE, PROD, 1, 4);
	story_run(&s, 10, 12, RED, PROD, 2, 4);
	story_run(&s, 10, 13, RED, PROD, 3, 4);
	is_int(egs_policy_find_victims(s.p, REQUESTER, 10, &found, 1), 1,
	       "a running job is found as victim");
	set_suspended(&s, victim(&s)->deadline, true);
	is_int(s.seen[EGS_ACT_REQUEUE], 0,
	       "a suspended job is not requeued at its deadline");
	is_int(s.seen[EGS_ACT_WITHDRAW], 1,
	       "the preemption of a suspended job is withdrawn");
	story_tell(&s, s.now + 1, VICTIM, EGS_EV_WITHDRAWN);
	ok(!victim(&s)->preempting,
	   "a confirmed withdrawal ends the preemption of a suspended job");
	story_tick(&s, 900);
	is_int(s.seen[EGS_ACT_WITHDRAW], 0,
	       "a suspended job is withdrawn only once");
	is_int(egs_policy_find_victims(s.p, REQUESTER, 900, &found, 1), -1,
	       "a suspended job is not found as victim");
	set_suspended(&s, 1000, false);
	tell_by(&s, 1001, VICTIM, EGS_EV_PREEMPTING, 0);
	is_int(victim(&s)->request_no, 2,
	       "a resumed job can be preempted again");
	story_end(&s);
}

static void it_is_suspended_after_a_yield(void)
{
	struct story s = preempted(true);
	struct egs_event ev = story_event(&s, VICTIM, EGS_EV_YIELDED);

	ev.request_no = 1;
	story_step(&s, 20, &ev);
	set_suspended(&s, 20, true);
	is_int(s.seen[EGS_ACT_WITHDRAW], 0,
	       "a suspended job that has yielded is not withdrawn");
	story_tick(&s, victim(&s)->deadline);
	is_int(s.seen[EGS_ACT_REQUEUE], 1,
	       "a suspended job that has yielded is requeued again at the "
	       "deadline");
	story_end(&s);
}

/* The victim becomes owned while it is preempted.  No other job is to be
 * preempted in its place.
 */
static void it_stays_the_victim(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(VICTIM, RED, RESEARCH, 4);

	s.conf->tier[RESEARCH].no_requeue = EGS_FATE_NONE;
	story_run(&s, 1, 11, RED, RESEARCH, 1, 4);
	story_run(&s, 2, 12, RED, RESEARCH, 2, 4);
	ev.facts.can_requeue = false;
	story_step(&s, 3, &ev);
	story_start(&s, 3, VICTIM, 0, 4);
	story_submit(&s, 4, REQUESTER, BLUE, RESEARCH, 4);
	ok(story_may_take(&s, REQUESTER, VICTIM),
	   "a job on loan may be preempted for a job within quota");
	tell_by(&s, 10, VICTIM, EGS_EV_PREEMPTING, 0);
	story_tell(&s, 20, 11, EGS_EV_ENDED);
	ok(!victim(&s)->on_loan,
	   "a job may become owned while it is preempted");
	ok(story_may_take(&s, REQUESTER, VICTIM),
	   "a job that became owned while it is preempted is still the victim");
	is_int(egs_policy_fate(s.p, VICTIM), EGS_FATE_CANCEL,
	       "the fate of a job is fixed while it is preempted");
	story_tell(&s, 30, REQUESTER, EGS_EV_ENDED);
	story_tell(&s, 31, VICTIM, EGS_EV_WITHDRAWN);
	is_int(egs_policy_fate(s.p, VICTIM), EGS_FATE_NONE,
	       "after a withdrawal the fate is that of an owned job");
	story_submit(&s, 32, OTHER, BLUE, RESEARCH, 4);
	ok(!story_may_take(&s, OTHER, VICTIM),
	   "an owned job that cannot be requeued is not preempted again");
	story_end(&s);
}

/* No job is preempted for a job that is deferred. */
static void the_requester_is_deferred(void)
{
	struct story s = preempted(false);

	s.conf->team[BLUE].max_gpus[STORY_GPU] = 4;
	s.conf->team[BLUE].limit_action = EGS_LIMIT_HOLD;
	story_node(&s, 11, 0, true); /* limits are read again */
	ok(!story_row(&s, REQUESTER).over_limit_pending,
	   "a requester within its limit may start");
	is_int(s.seen[EGS_ACT_WITHDRAW], 0,
	       "a preemption is not withdrawn while its requester is within "
	       "its limit");
	story_run(&s, 20, OTHER, BLUE, PROD, 1, 4);
	ok(story_row(&s, REQUESTER).over_limit_pending,
	   "a requester over its limit may not start");
	is_int(s.seen[EGS_ACT_WITHDRAW], 1,
	       "a preemption is withdrawn when its requester is over a limit");
	story_tell(&s, 21, VICTIM, EGS_EV_WITHDRAWN);
	tell_by(&s, 22, VICTIM, EGS_EV_PREEMPTING, 0);
	is_int(victim(&s)->requester, 0,
	       "a job over its limit is not guessed as requester");
	story_tell(&s, 30, OTHER, EGS_EV_ENDED);
	ok(!story_row(&s, REQUESTER).over_limit_pending,
	   "a deferred job may start when there is room below the limit");
	story_end(&s);
}

/* An exclusive job may get GPUs without a request. */
static void limit_of_job_without_gpus(void)
{
	struct egs_policy_conf *c = story_conf();
	struct story s;

	c->team[RED].max_gpus[STORY_GPU] = 6;
	s = story_with(c);
	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_submit(&s, 0, 2, RED, RESEARCH, 0);
	is_int((int)story_row(&s, 2).room, 2,
	       "a job without GPUs has the room that MaxGpus leaves");
	story_submit(&s, 0, 3, BLUE, RESEARCH, 0);
	ok(story_row(&s, 3).room == EGS_UNLIMITED,
	   "a job without GPUs of a team without MaxGpus has no limit");
	story_end(&s);
}

/* A new daemon finds a job being preempted, and its requester gone. */
static void another_daemon(void)
{
	struct story s = preempted(false), next = story_new();
	struct egs_event ev = story_job(VICTIM, RED, SCAVENGE, 4);
	struct egs_job_history past = { 0 };

	egs_policy_job_history(victim(&s), &past);
	ev.history = &past;
	story_step(&next, 20, &ev);
	ev = story_job(VICTIM, RED, SCAVENGE, 4);
	ev.kind = EGS_EV_STARTED;
	ev.alloc = &(struct egs_node_alloc){ .node = 0, .gpus = 4 };
	ev.nallocs = 1;
	ev.history = &past;
	story_step(&next, 20, &ev);
	is_int(next.seen[EGS_ACT_WITHDRAW], 1,
	       "a new daemon withdraws a preemption whose requester is gone");
	ok(egs_policy_is_notice_binding(egs_policy_job(next.p, VICTIM)),
	   "a notice is still binding for a new daemon");
	story_end(&s);
	story_end(&next);
}

/* The modes of both teams: RED has the victim, BLUE the requester. */
static void set_observed(struct story *s, bool red, bool blue)
{
	egs_policy_set_team_observed(s->p, RED, red);
	egs_policy_set_team_observed(s->p, BLUE, blue);
}

static void egs_only_observes(void)
{
	struct story s = preempted(true);

	ok(egs_policy_is_notice_binding(victim(&s)),
	   "a notice in enforce mode is binding");
	set_observed(&s, true, true);
	story_tick(&s, 12);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1,
	       "a preemption is withdrawn when EGS begins to observe");
	story_tell(&s, 13, VICTIM, EGS_EV_WITHDRAWN);
	ok(egs_policy_is_notice_binding(victim(&s)),
	   "until its deadline the job may answer a notice from before");
	is_int(egs_policy_fate(s.p, VICTIM), EGS_FATE_NONE,
	       "until its deadline no job of an enforcing team preempts it");
	story_tick(&s, 1000);
	ok(!egs_policy_is_notice_binding(victim(&s)),
	   "after its deadline a withdrawn notice counts no more");
	story_end(&s);

	s = preempted(true);
	set_observed(&s, false, true);
	story_tick(&s, 12);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1,
	       "a preemption is withdrawn when EGS begins to observe the team "
	       "of the requester");
	story_end(&s);
}

/* PreemptBase= decides in observe mode. */
static void slurm_preempts_in_observe_mode(void)
{
	struct story s = story_new();

	set_observed(&s, true, true);
	story_submit(&s, 0, VICTIM, RED, SCAVENGE, 4);
	story_start(&s, 1, VICTIM, 0, 4);
	story_submit(&s, 1, REQUESTER, BLUE, PROD, 4);
	tell_by(&s, 10, VICTIM, EGS_EV_PREEMPTING, 0);
	story_tick(&s, 12);
	is_int(s.seen[EGS_ACT_WITHDRAW], 0,
	       "a preemption by Slurm itself is not withdrawn in observe mode");
	ok(!egs_policy_is_notice_binding(victim(&s)),
	   "a preemption by Slurm itself gives no binding notice");
	tell_by(&s, 13, VICTIM, EGS_EV_CHOSEN_VICTIM, REQUESTER);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1,
	       "a preemption that select/egs began just before is withdrawn");
	story_end(&s);
}

int main(void)
{
	the_requester_is_gone();
	the_requester_is_gone_at_once();
	the_requester_starts_or_is_held();
	another_needs_it();
	it_is_preempted_again_at_once();
	it_is_late_the_second_time();
	the_guess_is_wrong();
	the_requester_is_named_or_guessed();
	it_yields_after_a_withdrawal();
	it_is_suspended();
	it_is_suspended_after_a_yield();
	it_stays_the_victim();
	the_requester_is_deferred();
	limit_of_job_without_gpus();
	another_daemon();
	egs_only_observes();
	slurm_preempts_in_observe_mode();
	return done_testing();
}
