/* store_preemptions.c - each preemption is one row, also if written twice */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policyd/store/store.h"
#include "t/lib/unit/tap.h"

static struct egs_store *store;
static struct egs_err err;
static struct egs_preemption last; /* its strings are not valid */
static char outcome[32], reason[128];
static int count;

static void on_row(void *arg, const struct egs_preemption *p)
{
	(void)arg;
	if (count++)
		return;
	last = *p;
	snprintf(outcome, sizeof(outcome), "%s", p->outcome);
	snprintf(reason, sizeof(reason), "%s", p->reason);
}

/* Number of preemptions; the newest of them is 'last'. */
static int count_rows(uint32_t job_id, egs_time_t since, uint32_t max)
{
	count = 0;
	outcome[0] = reason[0] = '\0';
	egs_store_preempt_each(store, job_id, since, max, on_row, NULL, &err);
	return count;
}

typedef int write_fn(struct egs_store *, const struct egs_preemption *,
		     struct egs_err *);

static void commit(write_fn *write, const struct egs_preemption *p)
{
	ok(egs_store_begin(store, &err) == 0 && write(store, p, &err) == 0 &&
		   egs_store_commit(store, &err) == 0,
	   "notice %u to job %u is written %s", p->notice, p->job.job_id,
	   err.msg);
}

static struct egs_preemption make_preemption(uint32_t id, uint32_t notice,
					     egs_time_t at)
{
	return (struct egs_preemption){
		.job = { .nonce = UINT64_MAX - id,
			 .job_id = id,
			 .uid = 2001,
			 .array_task = EGS_NO_TASK },
		.notice = notice,
		.gpus = 4,
		.requester = 99,
		.job_text = "12",
		.user = "alice",
		.team = "fraud",
		.tier = "research",
		.requester_team = "vision",
		.reason = "its GPUs are needed",
		.requested_at = at,
		.deadline = at + 60,
	};
}

static void test_story(void)
{
	struct egs_preemption p = make_preemption(12, 1, 1000);

	commit(egs_store_preempt_requested, &p);
	is_int(count_rows(12, 0, 9), 1, "a preemption is one row");
	ok(last.job.nonce == UINT64_MAX - 12 && last.requester == 99 &&
		   last.requested_at == 1000 && last.deadline == 1060,
	   "a preemption has its job, requester and deadline");
	is_str(reason, "its GPUs are needed", "a preemption has its reason");
	is_str(outcome, "",
	       "a preemption has no outcome before the job departs");
	p.reason = "another reason";
	p.requested_at = 1001;
	commit(egs_store_preempt_requested, &p);
	is_int(count_rows(12, 0, 9), 1,
	       "a preemption written twice is one row");
	is_str(reason, "its GPUs are needed",
	       "the second write keeps the first reason");
	p.requester = 0;
	commit(egs_store_preempt_requested, &p);
	count_rows(12, 0, 9);
	is_int(last.requester, 99,
	       "a write without requester keeps the first one");
	p.requester = 98;
	commit(egs_store_preempt_requested, &p);
	count_rows(12, 0, 9);
	ok(last.requester == 98 && last.requested_at == 1000,
	   "a write with another requester replaces the first one");
	is_str(reason, "another reason",
	       "a write with another requester replaces the reason");
	p.departed_at = 1010;
	p.saved_at = p.yielded_at = 1009;
	p.outcome = "yielded";
	p.lost_work_s = 3;
	p.held_s = 10;
	p.restart_s = 5;
	commit(egs_store_preempt_departed, &p);
	p.outcome = "late";
	p.departed_at = 1070;
	commit(egs_store_preempt_departed, &p);
	p.requester = 97;
	commit(egs_store_preempt_requested, &p);
	count_rows(12, 0, 9);
	is_str(outcome, "yielded", "the first outcome of a preemption stays");
	is_int(last.requester, 98,
	       "a requester named after the departure is ignored");
	ok(last.departed_at == 1010 && last.yielded_at == 1009 &&
		   last.lost_work_s == 3 && last.held_s == 10 &&
		   last.restart_s == 5,
	   "a departed job has its times and what it lost");
	is_int(last.restarted_at, 0, "a departed job has not restarted");
	p.restarted_at = 1100;
	commit(egs_store_preempt_restarted, &p);
	p.restarted_at = 1200;
	commit(egs_store_preempt_restarted, &p);
	count_rows(12, 0, 9);
	is_int(last.restarted_at, 1100, "the first restart of a job stays");
	p.restart_s = 4;
	commit(egs_store_preempt_working, &p);
	p.restart_s = 40;
	commit(egs_store_preempt_working, &p);
	count_rows(12, 0, 9);
	is_int(last.restart_s, 4, "the least time to work again stays");
	p.job.restarts++;
	p.restart_s = 1;
	commit(egs_store_preempt_working, &p);
	count_rows(12, 0, 9);
	is_int(last.restart_s, 4,
	       "a report of a later run does not change the preemption");
}

static void test_others(void)
{
	struct egs_preemption p = make_preemption(12, 2, 2000),
			      q = make_preemption(13, 1, 3000);
	struct egs_preemption none = make_preemption(14, 1, 4000);

	commit(egs_store_preempt_requested, &p);
	commit(egs_store_preempt_requested, &q);
	none.outcome = "late";
	none.departed_at = 4001;
	commit(egs_store_preempt_departed, &none);
	is_int(count_rows(14, 0, 9), 0,
	       "a departure without a notice makes no row");
	is_int(count_rows(12, 0, 9), 2, "a job has one row for each notice");
	is_int(last.notice, 2, "the newest preemption comes first");
	is_int(count_rows(0, 0, 9), 3,
	       "job id 0 lists preemptions of all jobs");
	is_int(count_rows(0, 2000, 9), 2, "older preemptions are left out");
	is_int(count_rows(0, 0, 1), 1,
	       "a list has at most the requested number of rows");
	q.job.nonce++;
	commit(egs_store_preempt_requested, &q);
	is_int(count_rows(13, 0, 9), 2,
	       "a job with the same id and another nonce has its own row");
	egs_store_begin(store, &err);
	egs_store_prune(store, 2500, &err);
	egs_store_commit(store, &err);
	is_int(count_rows(0, 0, 9), 2, "pruning deletes old preemptions");
}

int main(void)
{
	char dir[] = "/tmp/egs-preempt-XXXXXX", path[sizeof(dir) + 8];
	bool hopeless;

	plan_none();
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/state", dir);
	store = egs_store_open(path, &hopeless, &err);
	ok(store != NULL, "a new store is made %s", err.msg);
	test_story();
	test_others();
	egs_store_close(store);
	unlink(path);
	ok(rmdir(dir) == 0, "the store leaves no file behind");
	return done_testing();
}
