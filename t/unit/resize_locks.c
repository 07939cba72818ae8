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

static void test_release(void)
{
	begin(SCAN);
	ok(number() == SCAN, "a lock has the number of its scan");
	egs_resize_locks_send(&locks, JOB);
	ok(!egs_resize_locks_see(&locks, JOB, 100) && number() == SCAN,
	   "a job that is read before the worker has answered stays locked");
	ok(!egs_resize_locks_end(&locks, JOB, 100) && number() == SCAN,
	   "a job with a request in the worker stays locked");
	ok(egs_resize_locks_answer(&locks, JOB) && number() == SCAN,
	   "a job is to be read when the worker has answered");
	ok(!egs_resize_locks_end(&locks, JOB, 100) && number() == SCAN,
	   "a job stays locked until it was read");
	ok(egs_resize_locks_see(&locks, JOB, 100) && number() == 0,
	   "a lock ends when the job was read");
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
	ok(egs_resize_locks_end(&locks, JOB, 100) &&
		   !egs_resize_locks_pop(&locks, 100),
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
	egs_resize_locks_send(&locks, JOB);
	begin(SCAN + 1);
	egs_resize_locks_send(&locks, JOB);
	ok(!egs_resize_locks_answer(&locks, JOB) && number() == SCAN + 1,
	   "the answer to a cancelled request does not end the lock");
	ok(egs_resize_locks_answer(&locks, JOB) &&
		   egs_resize_locks_see(&locks, JOB, 100),
	   "the answer to the last request ends the lock");
	begin(SCAN + 2);
	ok(number() == SCAN + 2 && !egs_resize_locks_pop(&locks, 200),
	   "a new scan takes back the end of a lock");
	egs_resize_locks_drop(&locks, JOB);
	ok(!egs_resize_locks_find(&locks, JOB),
	   "the lock of an ended job is dropped");
}

int main(void)
{
	plan_none();
	ok(number() == 0 && !egs_resize_locks_answer(&locks, JOB) &&
		   !egs_resize_locks_see(&locks, JOB, 100),
	   "a job without a lock has no number");
	test_release();
	test_silent_node();
	test_second_scan();
	egs_resize_locks_free(&locks);
	return done_testing();
}
