/* policy_loan_book.c - owned and on loan: the walk of one team and GPU type */
#include <string.h>

#include "policyd/policy/loan_book.h"
#include "t/lib/unit/tap.h"

enum { PROD, RESEARCH, SCAVENGE };

#define H100	    0
#define MIN_RUNTIME 900

static struct egs_policy_conf *conf;
static struct egs_loan_book ledger;

static void fresh(uint32_t quota)
{
	egs_loan_book_clear(&ledger);
	ledger = (struct egs_loan_book){ .quota = quota,
					 .max_gpus = EGS_UNLIMITED };
}

static void start(uint32_t id, uint8_t tier, egs_time_t at, uint32_t gpus)
{
	struct egs_loan_entry e = { .job_id = id,
				    .tier = tier,
				    .start = at,
				    .gpus = gpus,
				    .workload = -1 };

	egs_loan_book_reserve(&ledger, 1);
	egs_loan_book_add(&ledger, &e);
	egs_loan_book_recompute(&ledger, conf, H100, at);
}

static const struct egs_loan_entry *job(uint32_t id)
{
	for (uint32_t i = 0; i < ledger.n; i++)
		if (ledger.entry[i].job_id == id)
			return &ledger.entry[i];
	return NULL;
}

static void walk(egs_time_t now)
{
	egs_loan_book_recompute(&ledger, conf, H100, now);
}

static void quota_and_loans(void)
{
	fresh(8);
	start(1, RESEARCH, 0, 6);
	ok(job(1)->owned, "a job inside the quota is owned");
	start(2, RESEARCH, 1, 4);
	ok(!job(2)->owned, "one that does not fit as a whole is on loan");
	start(3, RESEARCH, 2, 2);
	ok(job(3)->owned, "a smaller one after it still fits");
	is_int(ledger.owned, 8, "eight GPUs are owned");
	is_int(ledger.on_loan, 4, "four are on loan");
	egs_loan_book_remove(&ledger, RESEARCH, 0, 1);
	walk(3);
	ok(job(2)->owned,
	   "when the first ends, the loan becomes owned at once");
	start(4, SCAVENGE, 4, 1);
	ok(!job(4)->owned, "a tier with Loan=always never owns");
}

static void min_runtime(void)
{
	fresh(8);
	start(1, RESEARCH, 0, 8);
	start(2, PROD, 100, 8);
	ok(job(1)->owned && !job(2)->owned,
	   "a stronger tier does not push an owned job out in its MinRuntime");
	is_int(ledger.next_recompute, MIN_RUNTIME,
	       "the walk is due when that ends");
	walk(MIN_RUNTIME - 1);
	ok(job(1)->owned, "a second before nothing has changed");
	walk(MIN_RUNTIME);
	ok(!job(1)->owned && job(2)->owned, "then they change places");
	ok(job(1)->changed && job(2)->changed, "and both are said to");
	walk(MIN_RUNTIME + 1);
	ok(!job(1)->changed && !job(2)->changed, "once");
}

static void as_if_started(void)
{
	fresh(8);
	start(1, RESEARCH, 0, 6);
	is_int(egs_loan_book_quota_left(&ledger, RESEARCH), 2,
	       "an equal finds what is left");
	is_int(egs_loan_book_quota_left(&ledger, PROD), 2,
	       "so does a stronger tier, in MinRuntime");
	walk(MIN_RUNTIME);
	is_int(egs_loan_book_quota_left(&ledger, PROD), 8,
	       "after it a stronger tier finds the whole quota");
	start(2, PROD, MIN_RUNTIME, 8);
	ok(job(2)->owned, "and owns it, when it starts");
}

static void limits(void)
{
	fresh(8);
	ledger.max_gpus = 4;
	start(1, RESEARCH, 0, 4);
	start(2, RESEARCH, 1, 1);
	ok(job(1)->owned && !job(1)->over_limit,
	   "up to MaxGpus jobs are owned");
	ok(!job(2)->owned && job(2)->over_limit, "above it they are on loan");
	ledger.over_hours = true;
	walk(MIN_RUNTIME);
	ok(!job(1)->owned && job(1)->over_limit,
	   "MaxGpuHours reached: every job is on loan");
	fresh(8);
	ledger.unmanaged = 6;
	start(3, RESEARCH, 0, 4);
	ok(!job(3)->owned, "unmanaged jobs come off the quota first");
	fresh(8);
	start(4, RESEARCH, 0, 4);
	start(5, RESEARCH, 1, 4);
	ledger.quota = 4;
	walk(MIN_RUNTIME + 1);
	ok(job(4)->owned && !job(5)->owned,
	   "a smaller quota puts the youngest on loan");
}

static void floors(void)
{
	struct egs_loan_entry e = { .tier = PROD, .gpus = 4, .workload = 0 };

	fresh(16);
	for (uint32_t id = 1; id <= 3; id++) {
		e.job_id = id;
		egs_loan_book_reserve(&ledger, 1);
		egs_loan_book_add(&ledger, &e);
	}
	walk(0);
	ok(job(1)->in_floor && job(2)->in_floor,
	   "two of three hold up a floor of 6");
	ok(!job(3)->in_floor, "the third does not");
	ledger.quota = 4;
	walk(MIN_RUNTIME);
	ok(!job(2)->in_floor, "a floor exists only inside the quota");
}

static void floors_first(void)
{
	struct egs_loan_entry e = {
		.job_id = 1, .tier = RESEARCH, .gpus = 6, .workload = 0
	};

	fresh(8);
	egs_loan_book_reserve(&ledger, 1);
	egs_loan_book_add(&ledger, &e);
	walk(MIN_RUNTIME);
	is_int(egs_loan_book_quota_left(&ledger, PROD), 2,
	       "what is left for a stronger tier has no floor in it");
	start(2, PROD, MIN_RUNTIME, 4);
	ok(job(1)->owned && job(1)->in_floor,
	   "a stronger job of the team leaves the floor alone");
	ok(!job(2)->owned, "and is on loan where it does not fit beside it");
	start(3, PROD, MIN_RUNTIME, 2);
	ok(job(3)->owned && !job(3)->in_floor, "one that fits is owned");
	is_int(ledger.owned, 8, "eight GPUs are owned");
	ledger.max_gpus = 8;
	walk(MIN_RUNTIME);
	ok(job(1)->in_floor && !job(1)->over_limit,
	   "MaxGpus counts the floor first");
}

int main(void)
{
	plan_none();
	conf = egs_policy_conf_new();
	egs_conf_add_tier(conf, "prod");
	egs_conf_add_tier(conf, "research");
	egs_conf_add_tier(conf, "scavenge")->loan = EGS_LOAN_ALWAYS;
	egs_conf_add_workload(conf, "fraud")->floor[H100] = 6;
	quota_and_loans();
	min_runtime();
	as_if_started();
	limits();
	floors();
	floors_first();
	egs_loan_book_clear(&ledger);
	egs_policy_conf_free(conf);
	return done_testing();
}
