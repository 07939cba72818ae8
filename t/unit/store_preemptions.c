/* store_preemptions.c - what became of each request to go, told twice or not */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policyd/store/store.h"
#include "t/lib/unit/tap.h"

static struct egs_store *store;
static struct egs_err err;
static struct egs_preemption last; /* its words are not kept */
static char how[32], reason[128];
static int count;

static void on_row(void *arg, const struct egs_preemption *p)
{
	(void)arg;
	if (count++)
		return;
	last = *p;
	snprintf(how, sizeof(how), "%s", p->outcome);
	snprintf(reason, sizeof(reason), "%s", p->reason);
}

/* How many there are; the newest of them is 'last'. */
static int rows(uint32_t job_id, egs_time_t since, uint32_t max)
{
	count = 0;
	how[0] = reason[0] = '\0';
	egs_store_preempt_each(store, job_id, since, max, on_row, NULL, &err);
	return count;
}

typedef int write_fn(struct egs_store *, const struct egs_preemption *,
		     struct egs_err *);

static void keep(write_fn *write, const struct egs_preemption *p)
{
	ok(egs_store_begin(store, &err) == 0 && write(store, p, &err) == 0 &&
		   egs_store_commit(store, &err) == 0,
	   "it is kept %s", err.msg);
}

static struct egs_preemption sample(uint32_t id, uint32_t request,
				    egs_time_t at)
{
	return (struct egs_preemption){
		.job = { .nonce = UINT64_MAX - id,
			 .job_id = id,
			 .uid = 2001,
			 .array_task = EGS_NO_TASK },
		.notice = request,
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
	struct egs_preemption p = sample(12, 1, 1000);

	keep(egs_store_preempt_requested, &p);
	is_int(rows(12, 0, 9), 1, "a request is there");
	ok(last.job.nonce == UINT64_MAX - 12 && last.requester == 99 &&
		   last.requested_at == 1000 && last.deadline == 1060,
	   "with whom, for whom and until when");
	is_str(reason, "its GPUs are needed", "why");
	is_str(how, "", "and it has not gone");
	p.reason = "another reason";
	p.requested_at = 1001;
	keep(egs_store_preempt_requested, &p);
	is_int(rows(12, 0, 9), 1, "told twice it is one");
	is_str(reason, "its GPUs are needed", "as it was told first");
	p.requester = 0;
	keep(egs_store_preempt_requested, &p);
	rows(12, 0, 9);
	is_int(last.requester, 99, "nor is for whom forgotten,");
	p.requester = 98;
	keep(egs_store_preempt_requested, &p);
	rows(12, 0, 9);
	ok(last.requester == 98 && last.requested_at == 1000,
	   "but that may be mended");
	is_str(reason, "another reason", "with the reason");
	p.departed_at = 1010;
	p.saved_at = p.yielded_at = 1009;
	p.outcome = "yielded";
	p.lost_work_s = 3;
	p.held_s = 10;
	p.restart_s = 5;
	keep(egs_store_preempt_departed, &p);
	p.outcome = "late";
	p.departed_at = 1070;
	keep(egs_store_preempt_departed, &p);
	p.requester = 97;
	keep(egs_store_preempt_requested, &p);
	rows(12, 0, 9);
	is_str(how, "yielded", "it goes once");
	is_int(last.requester, 98, "for the job it went for");
	ok(last.departed_at == 1010 && last.yielded_at == 1009 &&
		   last.lost_work_s == 3 && last.held_s == 10 &&
		   last.restart_s == 5,
	   "with what was lost");
	is_int(last.restarted_at, 0, "it is not back,");
	p.restarted_at = 1100;
	keep(egs_store_preempt_restarted, &p);
	p.restarted_at = 1200;
	keep(egs_store_preempt_restarted, &p);
	rows(12, 0, 9);
	is_int(last.restarted_at, 1100, "and then it is, once");
	p.restart_s = 4;
	keep(egs_store_preempt_working, &p);
	p.restart_s = 40;
	keep(egs_store_preempt_working, &p);
	rows(12, 0, 9);
	is_int(last.restart_s, 4, "its first word counts, not the next,");
	p.job.restarts++;
	p.restart_s = 1;
	keep(egs_store_preempt_working, &p);
	rows(12, 0, 9);
	is_int(last.restart_s, 4, "and not that of a later run");
}

static void test_others(void)
{
	struct egs_preemption p = sample(12, 2, 2000), q = sample(13, 1, 3000);
	struct egs_preemption none = sample(14, 1, 4000);

	keep(egs_store_preempt_requested, &p);
	keep(egs_store_preempt_requested, &q);
	none.outcome = "late";
	none.departed_at = 4001;
	keep(egs_store_preempt_departed, &none);
	is_int(rows(14, 0, 9), 0, "who was not asked has not gone");
	is_int(rows(12, 0, 9), 2, "a job has one for each time");
	is_int(last.notice, 2, "the newest first");
	is_int(rows(0, 0, 9), 3, "of all jobs there are three");
	is_int(rows(0, 2000, 9), 2, "two of them since then");
	is_int(rows(0, 0, 1), 1, "as many as are wanted");
	q.job.nonce++;
	keep(egs_store_preempt_requested, &q);
	is_int(rows(13, 0, 9), 2, "another job under the same id is another");
	egs_store_begin(store, &err);
	egs_store_prune(store, 2500, &err);
	egs_store_commit(store, &err);
	is_int(rows(0, 0, 9), 2, "the old ones are forgotten");
}

int main(void)
{
	char dir[] = "/tmp/egs-ledger-XXXXXX", path[sizeof(dir) + 8];
	bool hopeless;

	plan_none();
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/state", dir);
	store = egs_store_open(path, &hopeless, &err);
	ok(store != NULL, "there is a store %s", err.msg);
	test_story();
	test_others();
	egs_store_close(store);
	unlink(path);
	ok(rmdir(dir) == 0, "nothing is left behind");
	return done_testing();
}
