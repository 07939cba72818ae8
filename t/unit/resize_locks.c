/* resize_locks.c - locks last until Slurm was read and the nodes know it */
#include "policyd/requests/resize_locks.h"
#include "t/lib/unit/tap.h"

enum { JOB = 12, SCAN = 700, N1 = 1, N2 = 2 };

static struct egs_resize_locks locks;
static const uint32_t nodes[] = { N1, N2 };

static uint32_t number(void)
{
	return egs_resize_locks_number(&locks, JOB);
}

static void begin(uint32_t scan)
{
	if (egs_resize_locks_begin(&locks, JOB, scan, nodes, 2) < 0)
		note("out of memory");
}

static bool end(bool is_busy)
{
	return egs_resize_locks_end(&locks, JOB, is_busy, 100);
}

static void test_release(void)
{
	begin(SCAN);
	ok(number() == SCAN, "a lock has the number of its scan");
	ok(!end(true) && number() == SCAN,
	   "a job with a scan, or a request in the worker, stays locked");
	ok(egs_resize_locks_answer(&locks, JOB) && number() == SCAN,
	   "a job is to be read when the worker has answered");
	ok(!end(false) && number() == SCAN,
	   "a job stays locked until it was read");
	egs_resize_locks_see(&locks, JOB);
	ok(end(false) && number() == 0, "a lock ends when the job was read");
	ok(egs_resize_locks_find(&locks, JOB) &&
		   !egs_resize_locks_pop(&locks, 100),
	   "a lock is known until its nodes have confirmed the end");
	egs_resize_locks_confirm(&locks, N1);
	ok(!egs_resize_locks_pop(&locks, 100),
	   "one node of two does not confirm for the other");
	egs_resize_locks_confirm(&locks, N2);
	ok(egs_resize_locks_pop(&locks, 100) == JOB &&
		   !egs_resize_locks_find(&locks, JOB),
	   "a lock that all nodes have confirmed is gone");
}

static void test_silent_node(void)
{
	begin(SCAN);
	egs_resize_locks_confirm(&locks, N1);
	egs_resize_locks_confirm(&locks, N2);
	ok(end(false) && !egs_resize_locks_pop(&locks, 100),
	   "orders from before the end confirm nothing");
	ok(!egs_resize_locks_pop(&locks, 100 + EGS_RESIZE_UNLOCK_S) &&
		   egs_resize_locks_pop(&locks, 101 + EGS_RESIZE_UNLOCK_S) ==
			   JOB,
	   "a silent node delays the end for some seconds only");
}

/* The job cancels its resize and begins another one. */
static void test_second_scan(void)
{
	begin(SCAN);
	begin(SCAN + 1);
	egs_resize_locks_answer(&locks, JOB);
	egs_resize_locks_see(&locks, JOB);
	ok(!end(true) && number() == SCAN + 1,
	   "a job that is read during its second scan stays locked");
	egs_resize_locks_answer(&locks, JOB);
	ok(!end(false) && number() == SCAN + 1,
	   "a read before the last answer does not end the lock");
	egs_resize_locks_see(&locks, JOB);
	ok(end(false) && !end(false), "a lock ends once");
	begin(SCAN + 2);
	ok(number() == SCAN + 2 && !egs_resize_locks_pop(&locks, 200),
	   "a new scan takes back the end of a lock");
}

/* The worker answers once for two requests that wait for it. */
static void test_merged_requests(void)
{
	begin(SCAN);
	egs_resize_locks_answer(&locks, JOB);
	egs_resize_locks_see(&locks, JOB);
	ok(end(false), "one answer to two requests ends the lock");
	ok(!egs_resize_locks_answer(&locks, JOB) && number() == 0,
	   "an answer to another request does not take back the end");
	egs_resize_locks_drop(&locks, JOB);
	ok(!egs_resize_locks_find(&locks, JOB),
	   "the lock of an ended job is dropped");
}

static void test_growth(void)
{
	begin(0);
	ok(number() == 0 && egs_resize_locks_answer(&locks, JOB) && !end(false),
	   "a job that has got GPUs orders no scan, and is to be read");
	egs_resize_locks_see(&locks, JOB);
	ok(end(false) && !egs_resize_locks_pop(&locks, 100),
	   "a job that has got GPUs waits for its nodes to unlock them");
	egs_resize_locks_confirm(&locks, N1);
	egs_resize_locks_confirm(&locks, N2);
	ok(egs_resize_locks_pop(&locks, 100) == JOB,
	   "a job that has got GPUs is told when its nodes have unlocked them");
}

int main(void)
{
	plan_none();
	ok(number() == 0 && !egs_resize_locks_answer(&locks, JOB) &&
		   !end(false),
	   "a job without a lock has no number");
	test_release();
	test_silent_node();
	test_second_scan();
	test_merged_requests();
	test_growth();
	egs_resize_locks_free(&locks);
	return done_testing();
}
