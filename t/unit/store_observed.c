/* store_observed.c - each pair of jobs in observe mode is one row */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policyd/store/store.h"
#include "t/lib/unit/tap.h"

static struct egs_store *store;
static struct egs_err err;
static struct egs_observed last; /* its strings are not valid */
static int count;

static void on_row(void *arg, const struct egs_observed *o)
{
	(void)arg;
	last = *o;
	count++;
}

/* Number of open pairs; the last of them is 'last'. */
static int count_open(void)
{
	count = 0;
	egs_store_observed_each_open(store, on_row, NULL, &err);
	return count;
}

static struct egs_observed make_pair(uint32_t victim, uint32_t requester)
{
	return (struct egs_observed){
		.job = { .nonce = UINT64_MAX - victim,
			 .job_id = victim,
			 .uid = 2001,
			 .array_task = EGS_NO_TASK },
		.requester = requester,
		.requester_nonce = requester * UINT64_C(1000),
		.gpus = 4,
		.lost_gpu_s = 240,
		.job_text = "12",
		.user = "bob",
		.fate = "requeue",
		.requester_user = "alice",
		.at = 1000,
		.queued_at = 900,
		.would_start = 1065,
	};
}

typedef int write_fn(struct egs_store *, const struct egs_observed *,
		     struct egs_err *);

static void commit(write_fn *write, const struct egs_observed *o)
{
	ok(egs_store_begin(store, &err) == 0 && write(store, o, &err) == 0 &&
		   egs_store_commit(store, &err) == 0,
	   "the pair of jobs %u and %u is written %s", o->job.job_id,
	   o->requester, err.msg);
}

static void test_story(void)
{
	struct egs_observed one = make_pair(12, 99), two = make_pair(13, 99),
			    other = make_pair(14, 98);

	commit(egs_store_observed_add, &one);
	commit(egs_store_observed_add, &one);
	is_int(count_open(), 1, "a pair that is written twice is one row");
	ok(last.lost_gpu_s == 240 && last.would_start == 1065 &&
		   last.requester_nonce == 99000,
	   "a pair has its cost, its waits and its requester");
	commit(egs_store_observed_add, &two);
	commit(egs_store_observed_add, &other);
	is_int(count_open(), 3, "each victim of a requester is one row");
	one.started_at = one.closed_at = 1100;
	commit(egs_store_observed_close, &one);
	is_int(count_open(), 1, "the start of a requester closes all its rows");
	is_int(last.requester, 98, "pairs of other requesters stay open");
}

static void test_prune(void)
{
	ok(egs_store_begin(store, &err) == 0 &&
		   egs_store_prune(store, 2000, &err) == 0 &&
		   egs_store_commit(store, &err) == 0,
	   "old pairs are deleted %s", err.msg);
	is_int(count_open(), 0, "no pair from before the limit is left");
}

int main(void)
{
	char dir[] = "/tmp/egs-observed-XXXXXX", path[sizeof(dir) + 8];
	bool hopeless;

	plan_none();
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/state", dir);
	store = egs_store_open(path, &hopeless, &err);
	ok(store != NULL, "the store opens %s", err.msg);
	test_story();
	test_prune();
	egs_store_close(store);
	unlink(path);
	ok(rmdir(dir) == 0, "the store leaves no file behind");
	return done_testing();
}
