/* select.c - select/egs makes no system call in job_test, and one elsewhere
 *
 * usage: select	prints TAP; also tests the state of a job that ends
 * usage: select NODES	prints the time of select/egs in one job_test, in ns.
 *			The cluster is full and has NODES nodes with 8 GPUs
 *			each.  A cycle is 200 tests; one job ends before each
 */
#include "t/slurm/select_cluster.h"

#include "common/ipc/doorbell.h"
#include "t/lib/unit/tap.h"

/* Tests in a cycle of backfill, and cycles. */
#define TESTS  200
#define CYCLES 100

static void test_with_candidates(void)
{
	test_job(SELECT_MODE_WILL_RUN, self.candidates);
}

/* Let select/egs choose victims for a start now. */
static void take(void)
{
	test_job(SELECT_MODE_RUN_NOW, self.candidates);
}

static void begin(void)
{
	select_p_job_begin(self.taker);
}

/* May a job behind the taker use this number of GPUs of the first node? */
static bool others_get(uint64_t gpus)
{
	job_record_t *other = make_job(OTHER, JOB_PENDING);

	other->priority = 1;
	make_gpus(other, gpus);
	test_of(other, SELECT_MODE_RUN_NOW, NULL);
	return self.open;
}

/* May a reservation that is created use the GPUs of the first node? Since 24.11
 * slurmctld tests that with a job that has no id and no priority.
 */
static bool reservation_gets(uint64_t gpus)
{
	job_record_t *fake = make_job(0, JOB_PENDING);

	make_gpus(fake, gpus);
	test_of(fake, SELECT_MODE_RUN_NOW, NULL);
	return self.open;
}

/* Freed GPUs are reserved exactly as long as the taker can use them.  The
 * victim has all eight GPUs of the node, and the taker needs four.
 */
static void claims(void)
{
	__typeof__(*self.taker->details) *d = self.taker->details;
	time_t gone = self.victim->end_time;
	char *gpus = xstrdup("gres:gpu:3");

	take();
	ok(!others_get(8), "GPUs freed for a job are not given to others");
	ok(reservation_gets(8), "a new reservation gets a claimed node");
	ok(others_get(4), "other jobs get the rest of a claimed node");
	self.taker->priority = 0;
	ok(others_get(8), "a held job has no claim");
	self.taker->priority = 2;
	ok(others_get(8), "a released job has no claim");
	take();
	d->depend_list = list_create(NULL);
	list_append(d->depend_list, gpus);
	ok(others_get(8), "a job with a dependency has no claim");
	FREE_NULL_LIST(d->depend_list);
	take();
	d->begin_time = time(NULL) + 1000;
	ok(others_get(8), "a job with a later begin time has no claim");
	d->begin_time = 0;
	take();
	self.taker->tres_per_node = gpus;
	ok(others_get(8), "a job with a changed request has no claim");
	self.taker->tres_per_node = NULL;
	take();
	node_record_table_ptr[0]->node_state = NODE_STATE_DOWN;
	ok(others_get(8), "a lost node has no claim");
	node_record_table_ptr[0]->node_state = NODE_STATE_IDLE;
	self.victim->end_time = time(NULL) - 1000;
	take();
	ok(others_get(8), "a claim expires");
	self.victim->end_time = gone;
	take();
	begin();
	ok(others_get(8), "a claim ends when its job begins");
	xfree(gpus);
}

/* Count the tests of cons_tres in one backfill test for a start at 'start'. */
static uint32_t asked(time_t start)
{
	uint32_t before = self.tests;

	self.start = start;
	test_with_candidates();
	self.start = 0;
	return self.tests - before;
}

/* The final state of a victim that exits with 0 after its grace period.  It ran
 * for 'seconds' of its time limit of ten minutes.
 */
static uint32_t late(time_t seconds)
{
	job_record_t *job = self.victim;

	job->job_state = JOB_TIMEOUT | JOB_COMPLETING;
	job->end_time = time(NULL);
	job->start_time = job->end_time - seconds;
	job->preempt_time = job->end_time - 5;
	job->time_limit = 10;
	select_p_job_fini(job);
	return job->job_state;
}

/* Since 24.05 squeue reads states in a second table.  The victim exits after
 * its grace period, then with code 99; it declared a checkpoint.
 */
static void second_table(void)
{
#if EGS_SLURM_SINCE(24, 5)
	job_record_t *job = self.victim;
	uint32_t state = late(60);

	is_int(self.cached_state, state,
	       "squeue shows the state of a victim that exits late");
	job->job_state = JOB_FAILED | JOB_COMPLETING;
	job->exit_code = 99 << 8;
	job->batch_flag = 1;
	job->details->requeue = 1;
	job->admin_comment = xstrdup("egs:1;ckpt=file;id=0000000000000002");
	self.cached_state = 0;
	select_p_job_fini(job);
	ok(job->job_state & JOB_REQUEUE, "exit code 99 requeues a job");
	is_int(self.cached_state, job->job_state,
	       "squeue shows the state of a job that exits with 99");
	xfree(job->admin_comment);
#endif
}

/* Count the datagrams that one call of 'fn' sends. */
static int rings(int bell, void (*fn)(void))
{
	struct egs_doorbell_claim got;
	int n = 0;

	fn();
	while (egs_doorbell_read(bell, &got))
		n++;
	return n;
}

static void backfill_later(void)
{
#if EGS_SLURM_SINCE(24, 11)
	is_int(asked(time(NULL) + 1000), 1,
	       "a test for a later time is Slurm's own");
#endif
}

static int test(void)
{
	struct egs_err err;
	int bell = egs_doorbell_listen(place.dir, &err);

	plan_none();
	if (!can_be_quiet()) {
		printf("1..0 # SKIP no seccomp filters here\n");
		return EXIT_SUCCESS;
	}
	make_cluster(16);
	ok(bell >= 0, "the doorbell is open");
	ok(is_quiet(plain_test, false), "job_test makes no system call");
	ok(is_quiet(test_with_candidates, false),
	   "job_test with candidates makes no system call");
	ok(is_quiet(take, false),
	   "choosing the same victims again makes no system call");
	ok(!is_quiet(begin, false), "a job that begins rings");
	ok(is_quiet(begin, true), "the ring of a begin does not block");
	ok(is_quiet(end, true), "the ring of an end does not block");
	while (rings(bell, plain_test))
		;
	is_int(rings(bell, plain_test), 0, "a test does not ring");
	is_int(rings(bell, take), 1, "a claim is one datagram");
	is_int(rings(bell, take), 0, "the same claim is not sent again");
	is_int(rings(bell, begin), 1, "a begin is one datagram");
	is_int(rings(bell, end), 1, "an end is one datagram");
	claims();
	is_int(late(60), JOB_COMPLETE | JOB_COMPLETING,
	       "a victim that exits after its grace period is complete");
	is_int(late(600), JOB_TIMEOUT | JOB_COMPLETING,
	       "a victim whose time limit is over has timed out");
	second_table();
	ok(self.tests > 0, "select/egs was called");
	self.victim->job_state = JOB_RUNNING;
	ok(asked(time(NULL)) > 1,
	   "a backfill test for now uses minimal victims");
	backfill_later();
	close(bell);
	return done_testing();
}

static int bench(int nodes)
{
	double spent = 0;

	make_cluster(nodes);
	plain_test();
	for (int i = 0; i < CYCLES; i++) {
		double start;

		end();
		start = cpu_seconds();
		for (int j = 0; j < TESTS; j++)
			plain_test();
		spent += cpu_seconds() - start;
	}
	printf("%.0f\n", 1e9 * spent / CYCLES / TESTS);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	int rc = EXIT_FAILURE;

	if (make_place(VICTIM, "") == 0)
		rc = argc > 1 ? bench(atoi(argv[1])) : test();
	remove_place();
	return rc;
}
