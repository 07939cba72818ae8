/* policy_withdraw.c - a request to go is taken back, and the job runs on */
#include "t/lib/unit/policy_fixture.h"
#include "t/lib/unit/tap.h"

enum { VICTIM = 1, TAKER, OTHER };

static void tell_by(struct story *s, egs_time_t now, uint32_t id,
		    enum egs_event_kind kind, uint32_t by)
{
	struct egs_event ev = story_event(s, id, kind);

	ev.requester = by;
	story_step(s, now, &ev);
}

/* A scavenger runs on node 0, prod wants its GPUs, and Slurm asks at 10. */
static struct story asked(bool ckpt)
{
	struct story s = story_new();
	struct egs_event ev = story_job(VICTIM, RED, SCAVENGE, 4);

	ev.facts.ckpt = ckpt;
	story_step(&s, 0, &ev);
	story_start(&s, 1, VICTIM, 0, 4);
	story_submit(&s, 1, TAKER, BLUE, PROD, 4);
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

static void the_taker_is_gone(void)
{
	struct story s = asked(false);

	story_tick(&s, 20);
	is_int(s.seen[EGS_ACT_WITHDRAW], 0, "while it is wanted it has to go");
	story_tell(&s, 30, TAKER, EGS_EV_ENDED);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1,
	       "its taker was cancelled: it stays");
	is_int(s.last[EGS_ACT_WITHDRAW].job.job_id, VICTIM, "that very job");
	ok(victim(&s)->withdrawing, "nobody is told of the request any more");
	story_tick(&s, 35);
	is_int(s.seen[EGS_ACT_WITHDRAW], 0, "Slurm is told once");
	story_tick(&s, 40);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1, "and again if it does not show it");
	story_tell(&s, 41, VICTIM, EGS_EV_WITHDRAWN);
	ok(!victim(&s)->preempting && !victim(&s)->deadline, "Slurm shows it");
	ok(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.withdrawn,
	   "the ledger hears of it");
	is_int(victim(&s)->preemptions, 0, "it has cost nothing");
	story_tick(&s, 1000);
	is_int(s.seen[EGS_ACT_REQUEUE], 0, "nothing comes of it later");
	story_end(&s);
}

static void the_taker_is_gone_at_once(void)
{
	struct story s = asked(false);

	story_tell(&s, 10, TAKER, EGS_EV_ENDED);
	is_int(s.seen[EGS_ACT_WITHDRAW], 0,
	       "not in the second it was asked in");
	story_tick(&s, 11);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1, "but in the next");
	story_end(&s);
}

static void other_ends(void)
{
	struct story s = asked(false);
	struct egs_event ev = story_job(TAKER, BLUE, PROD, 4);

	story_start(&s, 20, TAKER, 1, 4);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1, "its taker has started elsewhere");
	story_end(&s);

	s = asked(false);
	ev.facts.not_schedulable = true;
	story_step(&s, 20, &ev);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1, "or is held");
	story_end(&s);

	s = asked(false);
	story_tell(&s, 20, TAKER, EGS_EV_ENDED);
	story_tell(&s, 21, VICTIM, EGS_EV_REQUEUED);
	story_start(&s, 22, VICTIM, 0, 4);
	ok(!victim(&s)->withdrawing, "it went all the same: that is forgotten");
	tell_by(&s, 23, VICTIM, EGS_EV_WITHDRAWN, 0);
	is_int(s.seen[EGS_ACT_RECORD_DEPARTURE], 0, "and nothing was spared");
	story_end(&s);
}

static void another_needs_it(void)
{
	struct story s = asked(false);

	story_submit(&s, 11, OTHER, BLUE, PROD, 4);
	claim(&s, 12, OTHER, 0);
	story_tell(&s, 20, TAKER, EGS_EV_ENDED);
	is_int(s.seen[EGS_ACT_WITHDRAW], 0, "another claims what it holds");
	is_int(victim(&s)->requester, OTHER, "so it goes for that one");
	is_int(s.last[EGS_ACT_RECORD_REQUEST].requester, OTHER,
	       "as the ledger hears");
	story_tell(&s, 30, OTHER, EGS_EV_ENDED);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1, "until that is gone, too");
	story_end(&s);

	s = asked(false);
	story_submit(&s, 11, OTHER, BLUE, PROD, 4);
	claim(&s, 12, OTHER, 1);
	story_tell(&s, 20, TAKER, EGS_EV_ENDED);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1, "a claim elsewhere is no reason");
	story_end(&s);
}

/* Slurm takes the request back as it is told, and chooses the job again in the
 * same breath: nobody sees it without a request.
 */
static void ask_anew(struct story *s, egs_time_t now)
{
	struct egs_event ev = story_event(s, VICTIM, EGS_EV_PREEMPTING);

	ev.since = now;
	story_step(s, now, &ev);
}

static void it_is_chosen_again_at_once(void)
{
	struct story s = asked(false);

	story_submit(&s, 11, OTHER, BLUE, PROD, 4);
	story_tell(&s, 30, TAKER, EGS_EV_ENDED);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1, "its taker is gone: it stays");
	ask_anew(&s, 10);
	is_int(s.seen[EGS_ACT_RECORD_DEPARTURE] +
		       s.seen[EGS_ACT_RECORD_REQUEST],
	       0, "Slurm has not heard of it");
	ask_anew(&s, 31);
	ok(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.withdrawn,
	   "it has, and asks anew");
	is_int(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.request_no, 1,
	       "one is spared,");
	is_int(s.last[EGS_ACT_RECORD_REQUEST].preempt.request_no, 2,
	       "the other is open");
	is_int(s.last[EGS_ACT_RECORD_REQUEST].requester, OTHER,
	       "for who is next");
	ok(!victim(&s)->withdrawing, "and is not taken back");
	story_tick(&s, 60);
	is_int(s.seen[EGS_ACT_WITHDRAW], 0, "while that one waits");
	story_tell(&s, 70, OTHER, EGS_EV_ENDED);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1, "until that is gone, too");
	story_tell(&s, 71, VICTIM, EGS_EV_WITHDRAWN);
	story_tick(&s, 200);
	is_int(s.seen[EGS_ACT_WITHDRAW] + s.seen[EGS_ACT_REQUEUE], 0,
	       "once, and for good");
	story_end(&s);
}

/* Whatever was taken back before: at the deadline of the request that is open
 * another one is to go.
 */
static void it_is_late_the_second_time(void)
{
	struct story s = asked(false);

	s.conf->tier[SCAVENGE].at_deadline = EGS_FATE_NONE;
	story_submit(&s, 11, OTHER, BLUE, PROD, 4);
	story_tell(&s, 30, TAKER, EGS_EV_ENDED);
	ask_anew(&s, 31);
	story_tick(&s, victim(&s)->deadline);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1,
	       "it has not saved in time: it stays");
	ok(victim(&s)->late && !story_may_take(&s, OTHER, VICTIM),
	   "and is nobody's victim");
	story_tell(&s, s.now + 1, VICTIM, EGS_EV_WITHDRAWN);
	is_int(s.last[EGS_ACT_RECORD_DEPARTURE].preempt.request_no, 2,
	       "that one is over, too");
	story_end(&s);
}

/* The bell with the claim of OTHER came late, or not at all. */
static void the_guess_is_wrong(void)
{
	struct story s = asked(false);

	story_submit(&s, 11, OTHER, BLUE, PROD, 4);
	is_int(victim(&s)->requester, TAKER, "for the first in the queue");
	tell_by(&s, 12, VICTIM, EGS_EV_CHOSEN_VICTIM, OTHER);
	is_int(victim(&s)->requester, OTHER, "no, for another one");
	is_int(s.last[EGS_ACT_RECORD_REQUEST].requester, OTHER,
	       "the ledger is told,");
	is_int(s.last[EGS_ACT_RECORD_REQUEST].preempt.request_no, 1,
	       "of that request");
	tell_by(&s, 13, VICTIM, EGS_EV_CHOSEN_VICTIM, TAKER);
	is_int(s.seen[EGS_ACT_RECORD_REQUEST], 0,
	       "what was said is not said again");
	story_tell(&s, 20, OTHER, EGS_EV_ENDED);
	is_int(s.seen[EGS_ACT_WITHDRAW], 0, "who wants it, too, is waited for");
	is_int(victim(&s)->requester, TAKER, "in its place");
	story_tell(&s, 30, TAKER, EGS_EV_ENDED);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1, "until nobody is left");
	story_end(&s);

	s = story_new();
	story_run(&s, 0, VICTIM, RED, SCAVENGE, 0, 4);
	story_submit(&s, 1, TAKER, BLUE, PROD, 4);
	claim(&s, 2, TAKER, 1);
	story_submit(&s, 3, OTHER, BLUE, PROD, 4);
	tell_by(&s, 10, VICTIM, EGS_EV_PREEMPTING, 0);
	is_int(victim(&s)->requester, OTHER,
	       "who has a claim elsewhere is not "
	       "whom it goes for");
	story_end(&s);
}

static void slurm_says_for_whom(void)
{
	struct story s = story_new();

	story_run(&s, 0, VICTIM, RED, SCAVENGE, 0, 4);
	story_submit(&s, 1, TAKER, BLUE, PROD, 4);
	story_submit(&s, 2, OTHER, BLUE, PROD, 4);
	tell_by(&s, 10, VICTIM, EGS_EV_CHOSEN_VICTIM, OTHER);
	tell_by(&s, 11, VICTIM, EGS_EV_PREEMPTING, 0);
	is_int(victim(&s)->requester, OTHER, "no need to guess");
	story_end(&s);

	s = story_new();
	story_run(&s, 0, VICTIM, RED, SCAVENGE, 0, 4);
	tell_by(&s, 10, VICTIM, EGS_EV_CHOSEN_VICTIM, TAKER);
	tell_by(&s, 11, VICTIM, EGS_EV_PREEMPTING, 0);
	is_int(victim(&s)->requester, 0, "for one whom nobody has seen yet");
	story_submit(&s, 12, TAKER, BLUE, PROD, 4);
	is_int(victim(&s)->requester, TAKER, "until it is seen");
	is_int(s.last[EGS_ACT_RECORD_REQUEST].requester, TAKER,
	       "and the ledger is told");
	story_end(&s);

	s = story_new();
	story_run(&s, 0, VICTIM, RED, SCAVENGE, 0, 4);
	tell_by(&s, 11, VICTIM, EGS_EV_PREEMPTING, 0);
	is_int(victim(&s)->requester, 0, "nobody says for whom");
	story_submit(&s, 13, TAKER, BLUE, PROD, 4);
	is_int(s.last[EGS_ACT_RECORD_REQUEST].requester, TAKER,
	       "who is seen then, it is");
	story_tell(&s, 30, TAKER, EGS_EV_ENDED);
	is_int(s.seen[EGS_ACT_WITHDRAW], 1, "and when that is gone, it stays");
	story_end(&s);

	s = story_new();
	story_run(&s, 0, VICTIM, RED, SCAVENGE, 0, 4);
	tell_by(&s, 11, VICTIM, EGS_EV_PREEMPTING, 0);
	story_submit(&s, 30, TAKER, BLUE, PROD, 4);
	is_int(victim(&s)->requester, 0, "who comes later is not meant");
	story_end(&s);
}

/* What it was asked it may have heard already: it saves, and goes. */
static void it_goes_all_the_same(void)
{
	struct story s = asked(true);
	struct egs_event ev;

	story_tell(&s, 20, TAKER, EGS_EV_ENDED);
	story_tell(&s, 21, VICTIM, EGS_EV_WITHDRAWN);
	is_int(victim(&s)->deadline, 130, "until then it may still answer");
	ev = story_event(&s, VICTIM, EGS_EV_YIELDED);
	ev.request_no = 1;
	story_step(&s, 30, &ev);
	is_int(s.seen[EGS_ACT_REQUEUE], 1, "an answer is an answer");
	story_tell(&s, 31, VICTIM, EGS_EV_REQUEUED);
	ok(!victim(&s)->deadline && !victim(&s)->yielded,
	   "given once: the end of its next run is an end");
	story_end(&s);

	s = asked(true);
	story_tell(&s, 20, TAKER, EGS_EV_ENDED);
	story_tell(&s, 21, VICTIM, EGS_EV_WITHDRAWN);
	story_tick(&s, 130);
	is_int(s.seen[EGS_ACT_REQUEUE], 0, "its time is up, nobody ends it");
	is_int(victim(&s)->deadline, 0, "from now on nothing is left of it");
	ok(s.rows_changed, "rows are published when the old deadline passes");
	story_submit(&s, 140, OTHER, BLUE, PROD, 4);
	tell_by(&s, 141, VICTIM, EGS_EV_PREEMPTING, 0);
	is_int(victim(&s)->request_no, 2, "the next request is another");
	story_end(&s);
}

static void set_suspended(struct story *s, egs_time_t now, bool suspended)
{
	struct egs_event ev = story_job(VICTIM, RED, SCAVENGE, 4);

	ev.facts.ckpt = victim(s)->facts.ckpt;
	ev.facts.suspended = suspended;
	story_step(s, now, &ev);
}

/* It can neither save nor go by itself. */
static void it_is_suspended(void)
{
	struct story s = asked(false);
	uint32_t who;

	story_run(&s, 10, 11, BLUE, PROD, 1, 4);
	story_run(&s, 10, 12, RED, PROD, 2, 4);
	story_run(&s, 10, 13, RED, PROD, 3, 4);
	is_int(egs_policy_find_victims(s.p, TAKER, 10, &who, 1), 1,
	       "its GPUs would be another's");
	set_suspended(&s, victim(&s)->deadline, true);
	is_int(s.seen[EGS_ACT_REQUEUE], 0, "suspended it does not go,");
	is_int(s.seen[EGS_ACT_WITHDRAW], 1, "also at its deadline: it stays");
	story_tell(&s, s.now + 1, VICTIM, EGS_EV_WITHDRAWN);
	ok(!victim(&s)->preempting, "as Slurm shows");
	story_tick(&s, 900);
	is_int(s.seen[EGS_ACT_WITHDRAW], 0, "that is said once");
	is_int(egs_policy_find_victims(s.p, TAKER, 900, &who, 1), -1,
	       "nobody counts on its GPUs");
	set_suspended(&s, 1000, false);
	tell_by(&s, 1001, VICTIM, EGS_EV_PREEMPTING, 0);
	is_int(victim(&s)->request_no, 2, "it goes on, and is asked anew");
	story_end(&s);
}

static void it_is_suspended_with_an_answer(void)
{
	struct story s = asked(true);
	struct egs_event ev = story_event(&s, VICTIM, EGS_EV_YIELDED);

	ev.request_no = 1;
	story_step(&s, 20, &ev);
	set_suspended(&s, 20, true);
	is_int(s.seen[EGS_ACT_WITHDRAW], 0, "one that has yielded goes");
	story_tick(&s, victim(&s)->deadline);
	is_int(s.seen[EGS_ACT_REQUEUE], 1, "should that get lost, again");
	story_end(&s);
}

/* Its team gets back what it lacked: it is no loan any more, but has been
 * asked, and nobody is to be asked in its place.
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
	story_submit(&s, 4, TAKER, BLUE, RESEARCH, 4);
	ok(story_may_take(&s, TAKER, VICTIM), "what is on loan is called back");
	tell_by(&s, 10, VICTIM, EGS_EV_PREEMPTING, 0);
	story_tell(&s, 20, 11, EGS_EV_ENDED);
	ok(!victim(&s)->on_loan, "by then it is owned");
	ok(story_may_take(&s, TAKER, VICTIM), "it is still the victim");
	is_int(egs_policy_fate(s.p, VICTIM), EGS_FATE_CANCEL,
	       "and what becomes of it is what it was told");
	story_tell(&s, 30, TAKER, EGS_EV_ENDED);
	story_tell(&s, 31, VICTIM, EGS_EV_WITHDRAWN);
	is_int(egs_policy_fate(s.p, VICTIM), EGS_FATE_NONE,
	       "spared it is as safe as others");
	story_submit(&s, 32, OTHER, BLUE, RESEARCH, 4);
	ok(!story_may_take(&s, OTHER, VICTIM), "and nobody takes from it");
	story_end(&s);
}

/* Who may not start has nobody go. */
static void the_taker_is_barred(void)
{
	struct story s = asked(false);

	s.conf->team[BLUE].max_gpus[STORY_GPU] = 4;
	s.conf->team[BLUE].limit_action = EGS_LIMIT_HOLD;
	story_node(&s, 11, 0, true); /* limits are read again */
	ok(!story_row(&s, TAKER).over_limit_pending,
	   "inside the limit it may start");
	is_int(s.seen[EGS_ACT_WITHDRAW], 0, "and is waited for");
	story_run(&s, 20, OTHER, BLUE, PROD, 1, 4);
	ok(story_row(&s, TAKER).over_limit_pending,
	   "beyond the limit it may not");
	is_int(s.seen[EGS_ACT_WITHDRAW], 1, "so nobody has to go for it");
	story_tell(&s, 21, VICTIM, EGS_EV_WITHDRAWN);
	tell_by(&s, 22, VICTIM, EGS_EV_PREEMPTING, 0);
	is_int(victim(&s)->requester, 0, "nor is it whom others go for");
	story_tell(&s, 30, OTHER, EGS_EV_ENDED);
	ok(!story_row(&s, TAKER).over_limit_pending,
	   "until there is room again");
	story_end(&s);
}

/* A daemon that is new finds it asked, and its taker gone. */
static void another_daemon(void)
{
	struct story s = asked(false), next = story_new();
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
	is_int(next.seen[EGS_ACT_WITHDRAW], 1, "a new daemon spares it");
	story_end(&s);
	story_end(&next);
}

int main(void)
{
	the_taker_is_gone();
	the_taker_is_gone_at_once();
	other_ends();
	another_needs_it();
	it_is_chosen_again_at_once();
	it_is_late_the_second_time();
	the_guess_is_wrong();
	slurm_says_for_whom();
	it_goes_all_the_same();
	it_is_suspended();
	it_is_suspended_with_an_answer();
	it_stays_the_victim();
	the_taker_is_barred();
	another_daemon();
	return done_testing();
}
