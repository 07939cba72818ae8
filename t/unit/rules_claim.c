/* rules_claim.c - what is freed for a job is not taken by another */
#include "t/lib/unit/policy_fixture.h"
#include "t/lib/unit/tap.h"

static bool admit(const struct egs_claim_list *cs, int64_t priority,
		  uint32_t id, uint32_t left, uint32_t want)
{
	struct egs_queue_position turn = { .priority = priority, .job_id = id };
	struct egs_amount l = { left, 64, 1000 }, w = { want, 1, 10 };

	return egs_claim_may_use(cs, &turn, 0, &l, &w);
}

static void who_is_stopped(void)
{
	struct egs_claim c = { .position = { .priority = 100, .job_id = 5 },
			       .expires = 1000,
			       .gpus = 4,
			       .cores = 4 };
	struct egs_claim_list cs = { 0 };
	struct egs_queue_position behind = { .priority = 50, .job_id = 6 };
	struct egs_amount left = { 4, 64, 1000 }, want = { 1, 1, 10 };

	egs_claim_put(&cs, &c);
	ok(!admit(&cs, 50, 6, 4, 1),
	   "a job behind takes none of 4 claimed GPUs");
	ok(admit(&cs, 50, 6, 6, 2), "it may have what is beyond the claim");
	ok(!admit(&cs, 50, 6, 6, 3), "and not one more");
	ok(admit(&cs, 200, 6, 4, 4), "a job ahead ignores the claim");
	ok(admit(&cs, 100, 4, 4, 4), "so does an equal with a lower id");
	ok(!admit(&cs, 100, 6, 4, 4), "but not one with a higher id");
	ok(admit(&cs, 100, 5, 4, 4), "the claim is no obstacle to its job");
	ok(admit(&cs, 50, 6, 0, 0), "nor GPUs to a job that wants none");
	ok(egs_claim_may_use(&cs, &behind, 1, &left, &want),
	   "nor is it one on another node");
	want.cores = 61;
	want.gpus = 0;
	ok(!egs_claim_may_use(&cs, &behind, 0, &left, &want),
	   "cores are kept like GPUs");
	c.gpus = 1;
	egs_claim_put(&cs, &c);
	is_int(cs.n, 1, "a job has one claim on a node");
	ok(admit(&cs, 50, 6, 4, 3), "the newest");
	is_int(egs_claim_expire(&cs, 999), 0, "it holds to the last second");
	is_int(egs_claim_expire(&cs, 1000), 1, "and then it ends");
	is_int(egs_claim_expiry(1000, 600, 30), 1690,
	       "the longest grace, KillWait and a minute");
	egs_claim_clear(&cs);
}

static void claim(struct story *s, egs_time_t now, uint32_t id)
{
	struct egs_event ev = story_event(s, id, EGS_EV_CLAIMED);
	struct egs_node_alloc part[] = { { .node = 0, .gpus = 4 },
					 { .node = 1, .gpus = 4 } };

	ev.alloc = part;
	ev.nallocs = 2;
	ev.until = now + 500;
	story_step(s, now, &ev);
}

static uint32_t claims(const struct story *s)
{
	uint32_t n;

	egs_policy_claims(s->p, &n);
	return n;
}

static void when_it_ends(void)
{
	struct story s = story_new();
	struct egs_event ev;

	story_submit(&s, 0, 1, RED, RESEARCH, 4);
	claim(&s, 1, 1);
	is_int(claims(&s), 2, "a claim on two nodes");
	claim(&s, 2, 1);
	is_int(claims(&s), 2, "made again is the same");
	story_tick(&s, 499);
	is_int(claims(&s), 2, "no tick loses it");
	story_start(&s, 499, 1, 0, 4);
	is_int(claims(&s), 0, "it ends when its job starts");
	ok(s.claims_changed, "claims are published when a claim ends");
	story_tell(&s, 499, 1, EGS_EV_REQUEUED);
	claim(&s, 499, 1);
	story_tick(&s, 999);
	is_int(claims(&s), 0, "or at its expiry");
	story_submit(&s, 1000, 2, RED, RESEARCH, 4);
	claim(&s, 1000, 2);
	ev = story_job(2, RED, RESEARCH, 4);
	ev.facts.not_schedulable = true;
	is_int(claims(&s), 2, "a claim of another job");
	story_step(&s, 1001, &ev);
	is_int(claims(&s), 0, "ends when that is held");
	story_end(&s);
}

/* Strength before priority: else the victim takes its place back. */
static void no_victim_is_ahead(void)
{
	struct egs_queue_position owner = { .priority = 1,
					    .job_id = 9,
					    .tier = 1 };
	struct egs_queue_position other = { .priority = 5,
					    .job_id = 1,
					    .tier = 1 };

	ok(egs_queue_is_ahead(&other, &owner),
	   "among equals the priority decides");
	other.on_loan = true;
	ok(egs_queue_is_ahead(&owner, &other), "an owner is ahead of any loan");
	other.on_loan = false;
	other.tier = 2;
	ok(egs_queue_is_ahead(&owner, &other),
	   "a stronger tier of a weaker one");
}

/* Between the request and its start another job of its team starts. */
static void the_quota_is_kept(void)
{
	struct story s = story_new();

	story_run(&s, 0, 1, RED, RESEARCH, 2, 4);
	story_submit(&s, 1, 2, RED, RESEARCH, 4);
	claim(&s, 2, 2);
	story_run(&s, 3, 3, RED, PROD, 3, 4);
	ok(story_row(&s, 3).on_loan, "it is on loan: the quota is claimed");
	ok(!story_row(&s, 2).on_loan, "the claimant would still be owned");
	story_start(&s, 4, 2, 0, 4);
	ok(!story_row(&s, 2).on_loan, "and is, when it starts");
	ok(!story_row(&s, 1).on_loan && story_row(&s, 3).on_loan,
	   "the others are as they were");
	story_tell(&s, 5, 2, EGS_EV_ENDED);
	ok(!story_row(&s, 3).on_loan, "until it ends");
	story_submit(&s, 6, 4, RED, RESEARCH, 4);
	story_tell(&s, 6, 3, EGS_EV_ENDED);
	claim(&s, 7, 4);
	story_tick(&s, 507);
	story_run(&s, 508, 5, RED, RESEARCH, 3, 4);
	ok(!story_row(&s, 5).on_loan, "a claim that expired keeps nothing");
	story_end(&s);
}

static void a_node_is_lost(void)
{
	struct story s = story_new();

	story_submit(&s, 0, 1, RED, RESEARCH, 4);
	claim(&s, 1, 1);
	story_node(&s, 2, 0, false);
	is_int(claims(&s), 1, "what a lost node kept is kept no more");
	story_tell(&s, 3, 1, EGS_EV_ENDED);
	is_int(claims(&s), 0, "and the rest goes with its job");
	story_end(&s);
}

int main(void)
{
	plan_none();
	who_is_stopped();
	when_it_ends();
	no_victim_is_ahead();
	the_quota_is_kept();
	a_node_is_lost();
	return done_testing();
}
