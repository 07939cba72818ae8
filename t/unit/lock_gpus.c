/* lock_gpus.c - egs-noded unlocks what a job has, sooner or later
 *
 * The locks of the job are bits here, and the child runs when the test lets it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "noded/noded.h"
#include "t/lib/unit/tap.h"

enum { JOB = 12, OTHER = 13, SCAN = 7, FOUR = 0xf, TWO = 0x3 };

static struct {
	struct egs_noded noded;
	struct egs_job_orders orders[2];
	egs_child_fn *child; /* NULL: none runs */
	uint64_t locked[2];  /* of JOB and OTHER */
	uint32_t fails;	     /* the job whose locks cannot be set */
	bool no_child;	     /* a child cannot be started */
	int polls, forgotten;
} self;

/* ---- in the place of the loop, the child and the kernel ---- */

void egs_timer_start(struct egs_watch *timer, uint64_t in_ms)
{
	(void)timer;
	(void)in_ms;
	self.polls++;
}

int egs_timed_child_start(struct egs_timed_child *timed, struct egs_loop *loop,
			  egs_child_fn *fn, const void *input,
			  uint64_t limit_ms, struct egs_err *err)
{
	(void)timed;
	(void)loop;
	(void)input;
	(void)limit_ms;
	if (self.no_child)
		return egs_errf(err, "no child");
	self.child = fn;
	return 0;
}

bool egs_timed_child_runs(const struct egs_timed_child *timed)
{
	(void)timed;
	return self.child;
}

void egs_timed_child_stop(struct egs_timed_child *timed)
{
	(void)timed;
	self.child = NULL;
}

int egs_stepds_read(struct egs_stepds *all, struct egs_err *err)
{
	(void)all;
	(void)err;
	return 0;
}

void egs_stepds_free(struct egs_stepds *all)
{
	(void)all;
}

void egs_node_gpus_read(struct egs_node_gpus *gpus, const char *path,
			const char *node)
{
	(void)path;
	(void)node;
	gpus->n = 4;
}

int egs_gpu_locks_open(struct egs_gpu_locks *locks, struct egs_err *err)
{
	(void)locks;
	return egs_errf(err, "not here");
}

void egs_gpu_locks_close(struct egs_gpu_locks *locks)
{
	(void)locks;
}

int egs_gpu_locks_set(const struct egs_gpu_locks *locks,
		      const struct egs_node_gpus *gpus,
		      const struct egs_stepds *stepds,
		      const struct egs_gpu_lock *lock, struct egs_err *err)
{
	uint64_t *bits = &self.locked[lock->job == OTHER];

	(void)locks;
	(void)gpus;
	(void)stepds;
	if (lock->job == self.fails)
		return egs_errf(err, "no locks");
	*bits = (*bits & ~lock->gpu_set) | lock->locked;
	return 0;
}

void egs_gpu_locks_forget(const struct egs_gpu_locks *locks, uint32_t job)
{
	(void)locks;
	self.locked[job == OTHER] = 0;
	self.forgotten++;
}

uint64_t egs_noded_backoff_ms(uint32_t failures, uint64_t max_ms)
{
	(void)failures;
	return max_ms;
}

void egs_noded_start_gpu_scans(struct egs_noded *noded)
{
	(void)noded;
}

/* ---- what happens ---- */

/* The orders are one job, with these GPUs and this scan. */
static bool get_orders(uint64_t gpus, uint32_t scan)
{
	self.orders[0] = (struct egs_job_orders){ .job = JOB,
						  .gpu_set = gpus,
						  .gpu_scan = scan };
	self.noded.norders = 1;
	snprintf(self.noded.seq, sizeof(self.noded.seq), "s");
	self.polls = 0;
	return egs_noded_follow_locks(&self.noded);
}

static void end_child(void)
{
	struct egs_err err = { "" };
	egs_child_fn *fn = self.child;
	char *bytes = NULL;
	size_t len = 0;
	int rc = fn ? fn(&self.noded, &bytes, &len, &err) : -1;

	self.child = NULL;
	if (fn)
		self.noded.unlock_child.done(&self.noded, rc, bytes, len, &err);
}

static void begin_scan(void)
{
	struct egs_err err;

	get_orders(FOUR, SCAN);
	self.noded.gpu_scans[0] = (struct egs_gpu_scan){ .number = SCAN,
							 .job = JOB,
							 .gpu_set = FOUR,
							 .noded = &self.noded };
	egs_noded_expect_lock(&self.noded, &self.orders[0], &err);
}

static void end_scan(void)
{
	struct egs_gpu_users none = { .n = 0 };
	struct egs_err err;

	egs_noded_lock_unopened(&self.noded.gpu_scans[0], &none, &err);
	self.noded.gpu_scans[0].number = 0;
	egs_noded_unlock_after_scan(&self.noded);
}

static void begin(void)
{
	free(self.noded.job_locks);
	free(self.noded.unlocks);
	memset(&self, 0, sizeof(self));
	self.noded.gpu_locks = (struct egs_gpu_locks)EGS_GPU_LOCKS_NONE;
	self.noded.orders = self.orders;
	self.noded.has_orders = self.noded.locks_read = true;
}

/* ---- the stories ---- */

static void test_release(void)
{
	begin();
	begin_scan();
	end_scan();
	is_int((intmax_t)self.locked[0], FOUR, "a scan locks what is not open");
	ok(get_orders(FOUR, SCAN) && !self.child,
	   "GPUs stay locked while their scan is ordered");
	ok(!get_orders(TWO, 0) && self.polls == 0,
	   "the next request waits until the GPUs are unlocked");
	end_child();
	is_int((intmax_t)self.locked[0], FOUR & ~TWO,
	       "GPUs of the job are unlocked, GPUs that it gave back are not");
	ok(self.polls == 1 && *self.noded.seq,
	   "egs-policyd learns that the orders are obeyed");
	ok(get_orders(TWO, 0), "an unlocked GPU is not unlocked again");
	get_orders(FOUR, 0);
	end_child();
	is_int((intmax_t)self.locked[0], 0,
	       "a GPU that the job gets again is unlocked");
}

/* The orders have no scan any more while its child still runs. */
static void test_late_scan(void)
{
	begin();
	begin_scan();
	ok(!get_orders(FOUR, 0) && !self.child,
	   "GPUs are not unlocked before the scan has ended");
	ok(self.polls == 1 && !*self.noded.seq,
	   "egs-policyd does not take the orders for obeyed meanwhile");
	end_scan();
	end_child();
	is_int((intmax_t)self.locked[0], 0,
	       "GPUs that a late scan has locked are unlocked after it");
	ok(self.polls == 1, "only one request is under way");
}

static void test_failures(void)
{
	begin();
	begin_scan();
	end_scan();
	self.no_child = true;
	ok(!get_orders(FOUR, 0) && self.polls == 1 && !*self.noded.seq,
	   "the orders are requested again if no child starts");
	self.no_child = false;
	self.fails = JOB;
	get_orders(FOUR, 0);
	end_child();
	ok(self.polls == 1 && !*self.noded.seq,
	   "the orders are requested again if the child fails");
	self.fails = 0;
	get_orders(FOUR, 0);
	end_child();
	is_int((intmax_t)self.locked[0], 0,
	       "GPUs are unlocked when that is possible again");
}

static void test_two_jobs(void)
{
	struct egs_err err;

	begin();
	begin_scan();
	end_scan();
	self.orders[1] =
		(struct egs_job_orders){ .job = OTHER, .gpu_set = TWO };
	egs_noded_expect_lock(&self.noded, &self.orders[1], &err);
	self.locked[1] = TWO;
	self.orders[0].gpu_scan = 0;
	self.noded.norders = 2;
	self.fails = JOB;
	egs_noded_follow_locks(&self.noded);
	end_child();
	is_int((intmax_t)self.locked[1], 0,
	       "a job is unlocked although another one cannot be");
}

static void test_ended_job(void)
{
	begin();
	begin_scan();
	self.noded.norders = 0;
	egs_noded_follow_locks(&self.noded);
	is_int(self.forgotten, 0, "an ended job is known until its scan ends");
	end_scan();
	ok(self.forgotten == 1 && !self.noded.njob_locks,
	   "a job that ended during its scan is forgotten after it");
}

/* Locks of version 1 outlive egs-noded. */
static void test_restart(void)
{
	begin();
	self.noded.locks_read = false;
	self.locked[0] = FOUR;
	get_orders(TWO, 0);
	end_child();
	is_int((intmax_t)self.locked[0], FOUR & ~TWO,
	       "a new egs-noded unlocks what a job has");
	get_orders(FOUR, 0);
	end_child();
	is_int((intmax_t)self.locked[0], 0,
	       "a new egs-noded unlocks a GPU that a job gets again");
	self.locked[0] = 0;
	get_orders(TWO, 0);
	end_child();
	is_int((intmax_t)self.locked[0], 0,
	       "a new egs-noded locks nothing that no scan has locked");
}

int main(void)
{
	plan_none();
	test_release();
	test_late_scan();
	test_failures();
	test_two_jobs();
	test_ended_job();
	test_restart();
	begin();
	return done_testing();
}
