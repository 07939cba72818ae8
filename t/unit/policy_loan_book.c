/* policy_loan_book.c - owned and on loan: the walk of one team and GPU type */
#include <string.h>

#include "policyd/policy/loan_book.h"
#include "t/lib/unit/tap.h"

enum { PROD, RESEARCH, SCAVENGE };

#define H100	    0
#define MIN_RUNTIME 900

static struct egs_policy_conf *conf;
static struct egs_loan_book book;

static void fresh(uint32_t quota)
{
	egs_loan_book_clear(&book);
	book = (struct egs_loan_book){ .quota = quota,
				       .max_gpus = EGS_UNLIMITED };
}

static void start(uint32_t id, uint8_t tier, egs_time_t at, uint32_t gpus)
{
	struct egs_loan_entry e = { .job_id = id,
				    .tier = tier,
				    .start = at,
				    .gpus = gpus,
				    .workload = -1 };

	egs_loan_book_reserve(&book, 1);
	egs_loan_book_add(&book, &e);
	egs_loan_book_recompute(&book, conf, H100, at);
}

static const struct egs_loan_entry *job(uint32_t id)
{
	for (uint32_t i = 0; i < book.n; i++)
		if (book.entry[i].job_id == id)
			return &book.entry[i];
	return NULL;
}

static void walk(egs_time_t now)
{
	egs_loan_book_recompute(&book, conf, H100, now);
}

static void quota_and_loans(void)
{
	fresh(8);
	start(1, RESEARCH, 0, 6);
	ok(job(1)->owned, "a job within the quota is owned");
	start(2, RESEARCH, 1, 4);
	ok(!job(2)->owned,
	   "a job that does not fit in the quota as a whole is on loan");
	start(3, RESEARCH, 2, 2);
	ok(job(3)->owned, "a smaller job after one that did not fit is owned");
	is_int(book.owned, 8, "the GPUs of owned jobs add up to eight");
	is_int(book.on_loan, 4, "the GPUs of jobs on loan add up to four");
	egs_loan_book_remove(&book, RESEARCH, 0, 1);
	walk(3);
	ok(job(2)->owned,
	   "when an owned job ends, a loan becomes owned at once");
	start(4, SCAVENGE, 4, 1);
	ok(!job(4)->owned, "a job of a tier with Loan=always is never owned");
}

static void min_runtime(void)
{
	fresh(8);
	start(1, RESEARCH, 0, 8);
	start(2, PROD, 100, 8);
	ok(job(1)->owned && !job(2)->owned,
	   "within its MinRuntime an owned job stays owned beside a stronger "
	   "tier");
	is_int(book.next_recompute, MIN_RUNTIME,
	       "the next walk is due when the MinRuntime ends");
	walk(MIN_RUNTIME - 1);
	ok(job(1)->owned,
	   "one second before the end of MinRuntime nothing has changed");
	walk(MIN_RUNTIME);
	ok(!job(1)->owned && job(2)->owned,
	   "after MinRuntime the stronger job is owned and the weaker on loan");
	ok(job(1)->changed && job(2)->changed,
	   "both jobs that changed places are marked as changed");
	walk(MIN_RUNTIME + 1);
	ok(!job(1)->changed && !job(2)->changed,
	   "jobs are marked as changed in one walk only");
}

static void as_if_started(void)
{
	fresh(8);
	start(1, RESEARCH, 0, 6);
	is_int(egs_loan_book_quota_left(&book, RESEARCH), 2,
	       "a pending job of the same tier finds the rest of the quota");
	is_int(egs_loan_book_quota_left(&book, PROD), 2,
	       "within MinRuntime a stronger tier finds only the rest of the "
	       "quota");
	walk(MIN_RUNTIME);
	is_int(egs_loan_book_quota_left(&book, PROD), 8,
	       "after MinRuntime a stronger tier finds the whole quota");
	start(2, PROD, MIN_RUNTIME, 8);
	ok(job(2)->owned,
	   "a job that found the whole quota is owned when it starts");
}

static void slack(void)
{
	fresh(8);
	start(1, RESEARCH, 0, 4);
	start(2, RESEARCH, 1, 2);
	is_int(job(1)->slack, EGS_SLACK_NO_END,
	       "nothing displaces a job within its MinRuntime");
	walk(MIN_RUNTIME + 1);
	is_int(job(1)->slack, 4,
	       "the slack of the first job is the rest of "
	       "the quota behind it");
	is_int(job(2)->slack, 2, "the slack of a later job is smaller");
	is_int(job(1)->span, EGS_SPAN_NO_END,
	       "a job without a larger one before it has no end of its span");
	is_int(job(2)->span, 2,
	       "the span ends where a larger job before it is on loan, too");
	book.max_gpus = 7;
	walk(MIN_RUNTIME + 2);
	is_int(job(2)->slack, 1, "MaxGpus bounds the slack");
}

static void limits(void)
{
	fresh(8);
	book.max_gpus = 4;
	start(1, RESEARCH, 0, 4);
	start(2, RESEARCH, 1, 1);
	ok(job(1)->owned && !job(1)->over_limit,
	   "jobs up to MaxGpus are owned");
	ok(!job(2)->owned && job(2)->over_limit,
	   "jobs beyond MaxGpus are on loan and over the limit");
	book.over_hours = true;
	walk(MIN_RUNTIME);
	ok(!job(1)->owned && job(1)->over_limit,
	   "when MaxGpuHours is reached every job is on loan");
	fresh(8);
	book.unmanaged = 6;
	start(3, RESEARCH, 0, 4);
	ok(!job(3)->owned,
	   "unmanaged jobs are subtracted from the quota first");
	fresh(8);
	start(4, RESEARCH, 0, 4);
	start(5, RESEARCH, 1, 4);
	book.quota = 4;
	walk(MIN_RUNTIME + 1);
	ok(job(4)->owned && !job(5)->owned,
	   "a smaller quota puts the youngest job on loan");
}

static void floors(void)
{
	struct egs_loan_entry e = { .tier = PROD, .gpus = 4, .workload = 0 };

	fresh(16);
	for (uint32_t id = 1; id <= 3; id++) {
		e.job_id = id;
		egs_loan_book_reserve(&book, 1);
		egs_loan_book_add(&book, &e);
	}
	walk(0);
	ok(job(1)->in_floor && job(2)->in_floor,
	   "two of three jobs with 4 GPUs fill a floor of 6");
	ok(!job(3)->in_floor, "the third job does not fill a floor of 6");
	book.quota = 4;
	walk(MIN_RUNTIME);
	ok(!job(2)->in_floor, "a floor beyond the quota is not filled");
}

static void floors_first(void)
{
	struct egs_loan_entry e = {
		.job_id = 1, .tier = RESEARCH, .gpus = 6, .workload = 0
	};

	fresh(8);
	egs_loan_book_reserve(&book, 1);
	egs_loan_book_add(&book, &e);
	walk(MIN_RUNTIME);
	is_int(egs_loan_book_quota_left(&book, PROD), 2,
	       "the quota left for a stronger tier does not include the floor");
	start(2, PROD, MIN_RUNTIME, 4);
	ok(job(1)->owned && job(1)->in_floor,
	   "a stronger job of the team does not push out the floor");
	ok(!job(2)->owned,
	   "a stronger job that does not fit beside the floor is on loan");
	start(3, PROD, MIN_RUNTIME, 2);
	ok(job(3)->owned && !job(3)->in_floor,
	   "a stronger job that fits beside the floor is owned");
	is_int(book.owned, 8,
	       "jobs in and above the floor add up to the quota");
	book.max_gpus = 8;
	walk(MIN_RUNTIME);
	ok(job(1)->in_floor && !job(1)->over_limit,
	   "jobs in a floor count first against MaxGpus");
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
	slack();
	limits();
	floors();
	floors_first();
	egs_loan_book_clear(&book);
	egs_policy_conf_free(conf);
	return done_testing();
}
