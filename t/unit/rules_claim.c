/* rules_claim.c - GPUs freed for a job are not used by another */
#include "t/lib/unit/policy_fixture.h"
#include "t/lib/unit/tap.h"

static bool admit(const struct egs_claim_list *cs, int64_t priority,
		  uint32_t id, uint32_t left, uint32_t want)
{
	struct egs_queue_position turn = { .priority = priority, .job_id = id };
	struct egs_amount l = { left, 64, 1000 }, w = { want, 1, 10 };

	return egs_claim_may_use(cs, &turn, 0, &l, &w);
}

static void which_jobs_are_stopped(void)
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
	   "a job behind the claiming job may not use the claimed GPUs");
	ok(admit(&cs, 50, 6, 6, 2),
	   "a job behind the claiming job may use GPUs beyond the claim");
	ok(!admit(&cs, 50, 6, 6, 3),
	   "a job behind the claiming job may not use one GPU more than that");
	ok(admit(&cs, 200, 6, 4, 4),
	   "a job ahead of the claiming job may use the claimed GPUs");
	ok(admit(&cs, 100, 4, 4, 4),
	   "a job with equal priority and a lower id is ahead of a claim");
	ok(!admit(&cs, 100, 6, 4, 4),
	   "a job with equal priority and a higher id is behind a claim");
	ok(admit(&cs, 100, 5, 4, 4),
	   "the claiming job may use the claimed GPUs");
	ok(admit(&cs, 50, 6, 0, 0),
	   "a job without GPUs may use a node with claimed GPUs");
	ok(egs_claim_may_use(&cs, &behind, 1, &left, &want),
	   "a claim does not concern other nodes");
	want.cores = 61;
	want.gpus = 0;
	ok(!egs_claim_may_use(&cs, &behind, 0, &left, &want),
	   "claimed cores are reserved like GPUs");
	c.gpus = 1;
	egs_claim_put(&cs, &c);
	is_int(cs.n, 1, "a job has one claim on a node");
	ok(admit(&cs, 50, 6, 4, 3),
	   "a new claim replaces an older claim on the node");
	is_int(egs_claim_expire(&cs, 999), 0,
	       "a claim lasts to the last second before its expiry");
	is_int(egs_claim_expire(&cs, 1000), 1, "a claim ends at its expiry");
	is_int(egs_claim_expiry(1000, 600, 30), 1690,
	       "a claim expires a minute after the grace period and KillWait");
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

static void when_a_claim_ends(void)
{
	struct story s = story_new();
	struct egs_event ev;

	story_submit(&s, 0, 1, RED, RESEARCH, 4);
	claim(&s, 1, 1);
	is_int(claims(&s), 2, "a claim on two nodes is stored as two");
	claim(&s, 2, 1);
	is_int(claims(&s), 2, "a claim made again replaces the first");
	story_tick(&s, 499);
	is_int(claims(&s), 2, "a tick before the expiry ends no claim");
	story_start(&s, 499, 1, 0, 4);
	is_int(claims(&s), 0, "a claim ends when its job starts");
	ok(s.claims_changed, "claims are published when a claim ends");
	story_tell(&s, 499, 1, EGS_EV_REQUEUED);
	claim(&s, 499, 1);
	story_tick(&s, 999);
	is_int(claims(&s), 0, "a claim of the policy ends at its expiry");
	story_submit(&s, 1000, 2, RED, RESEARCH, 4);
	claim(&s, 1000, 2);
	ev = story_job(2, RED, RESEARCH, 4);
	ev.facts.not_schedulable = true;
	is_int(claims(&s), 2, "another job can make a claim on the same nodes");
	story_step(&s, 1001, &ev);
	is_int(claims(&s), 0, "a claim ends when its job is held");
	story_end(&s);
}

/* The tier counts before the priority: else a victim could be ahead. */
static void no_victim_is_ahead(void)
{
	struct egs_queue_position owner = { .priority = 1,
					    .job_id = 9,
					    .tier = 1 };
	struct egs_queue_position other = { .priority = 5,
					    .job_id = 1,
					    .tier = 1 };

	ok(egs_queue_is_ahead(&other, &owner),
	   "within one tier the higher priority is ahead");
	other.on_loan = true;
	ok(egs_queue_is_ahead(&owner, &other),
	   "a job within quota is ahead of a job on loan");
	other.on_loan = false;
	other.tier = 2;
	ok(egs_queue_is_ahead(&owner, &other),
	   "a stronger tier is ahead of a weaker one");
}

/* Another job of the team starts between the claim and the start of its job. */
static void the_quota_is_reserved(void)
{
	struct story s = story_new();

	story_run(&s, 0, 1, RED, RESEARCH, 2, 4);
	story_submit(&s, 1, 2, RED, RESEARCH, 4);
	claim(&s, 2, 2);
	story_run(&s, 3, 3, RED, PROD, 3, 4);
	ok(story_row(&s, 3).on_loan,
	   "a job that starts while its team's quota is claimed is on loan");
	ok(!story_row(&s, 2).on_loan, "the claiming job would still be owned");
	story_start(&s, 4, 2, 0, 4);
	ok(!story_row(&s, 2).on_loan,
	   "the claiming job is owned when it starts");
	ok(!story_row(&s, 1).on_loan && story_row(&s, 3).on_loan,
	   "other jobs keep their state when the claiming job starts");
	story_tell(&s, 5, 2, EGS_EV_ENDED);
	ok(!story_row(&s, 3).on_loan,
	   "a job on loan is owned when the claiming job ends");
	story_submit(&s, 6, 4, RED, RESEARCH, 4);
	story_tell(&s, 6, 3, EGS_EV_ENDED);
	claim(&s, 7, 4);
	story_tick(&s, 507);
	story_run(&s, 508, 5, RED, RESEARCH, 3, 4);
	ok(!story_row(&s, 5).on_loan, "an expired claim reserves no quota");
	story_end(&s);
}

static void a_node_goes_down(void)
{
	struct story s = story_new();

	story_submit(&s, 0, 1, RED, RESEARCH, 4);
	claim(&s, 1, 1);
	story_node(&s, 2, 0, false);
	is_int(claims(&s), 1, "a claim on a node that goes down ends");
	story_tell(&s, 3, 1, EGS_EV_ENDED);
	is_int(claims(&s), 0, "other claims of a job end with the job");
	story_end(&s);
}

int main(void)
{
	plan_none();
	which_jobs_are_stopped();
	when_a_claim_ends();
	no_victim_is_ahead();
	the_quota_is_reserved();
	a_node_goes_down();
	return done_testing();
}
