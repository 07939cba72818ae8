/* select.c - select/egs makes no system call in job_test, and one elsewhere
 *
 * usage: select	prints TAP; also tests the state of a job that ends
 * usage: select NODES	prints the time of select/egs in one job_test, in ns.
 *			The cluster is full and has NODES nodes with 8 GPUs
 *			each.  A cycle is 200 tests; one job ends before each
 *
 * A stand-in for cons_tres answers at once, so that only the time of select/egs
 * is measured.
 */
#include "t/slurm/records.h"

#include <dlfcn.h>
#include <fcntl.h>

#include "common/ipc/doorbell.h"
#include "common/ipc/table_layout.h"
#include "t/lib/unit/tap.h"

#define GPUS   8
#define TAKER  1
#define VICTIM 2
#define OTHER  3

/* Tests in a cycle of backfill, and cycles. */
#define TESTS  200
#define CYCLES 100

/* Variables that slurmctld has for plugins. */
node_record_t **node_record_table_ptr;
slurmctld_config_t slurmctld_config;
int node_record_count;
#if EGS_SLURM_SINCE(23, 2)
list_t *job_list;
#else
List job_list;
#endif

static struct {
	job_record_t *taker, *victim;
	bitstr_t *nodes;
	egs_list candidates;
	uint32_t tests;
	int offered;	       /* nodes in the first test since it was -1 */
	time_t start;	       /* that a backfill test has; 0: no such test */
	bool open;	       /* the last test included the first node */
	int rc;		       /* of the last test */
	uint32_t cached_state; /* that slurmctld's second table has */
} self;

job_record_t *find_job_record(uint32_t job_id)
{
	return job_id == TAKER ? self.taker : NULL;
}

node_record_t *find_node_record(char *name)
{
	return strcmp(name, "first") == 0 ? node_record_table_ptr[0] : NULL;
}

void set_job_prio(job_record_t *job)
{
	(void)job;
}

#ifdef job_state_set
void slurm_job_state_set(job_record_t *job, uint32_t state, const char *caller)
{
	(void)caller;
	job->job_state = self.cached_state = state;
}
#elif EGS_SLURM_SINCE(24, 5)
void job_state_set(job_record_t *job, uint32_t state)
{
	job->job_state = self.cached_state = state;
}
#endif

/* ---- in the place of cons_tres ---- */

static int job_test(EGS_JOB_TEST_PARAMS)
{
	const struct egs_job_test test = { EGS_JOB_TEST_ARGS };

	self.tests += test.mode == SELECT_MODE_WILL_RUN;
	self.open = bit_test(test.nodes, 0);
	if (self.offered < 0)
		self.offered = bit_set_count(test.nodes);
	test.job->start_time = time(NULL) + 1000;
	if (test.mode != SELECT_MODE_RUN_NOW || !test.candidates)
		return SLURM_SUCCESS;
	bit_clear_all(test.nodes);
	bit_set(test.nodes, 0);
	*test.victims = list_create(NULL);
	list_append(*test.victims, self.victim);
	return SLURM_SUCCESS;
}

static int job_call(job_record_t *job)
{
	return job ? SLURM_SUCCESS : SLURM_ERROR;
}

void *dlsym(void *handle, const char *name)
{
	(void)handle;
	return strcmp(name, "select_p_job_test") == 0 ? (void *)job_test
						      : (void *)job_call;
}

/* ---- a full cluster ---- */

static node_record_t *make_node(int index)
{
	gres_node_state_t *gpus = calloc(1, sizeof(*gpus));
	gres_state_t *gres = calloc(1, sizeof(*gres));
	node_record_t *node = calloc(1, sizeof(*node));
	char name[] = "gpu";

	gpus->gres_cnt_avail = gpus->gres_cnt_alloc = GPUS;
	gres->plugin_id = gres_build_id(name);
	gres->gres_data = gpus;
	node->gres_list = list_create(NULL);
	list_append(node->gres_list, gres);
	node->index = (uint32_t)index;
	node->cpus_efctv = 64;
	node->real_memory = 256000;
	return node;
}

static void make_gpus(job_record_t *job, uint64_t count)
{
	gres_job_state_t *want = calloc(1, sizeof(*want));
	gres_state_t *gres = calloc(1, sizeof(*gres));
	char name[] = "gpu";

	want->gres_per_node = count;
	gres->plugin_id = gres_build_id(name);
	gres->gres_data = want;
	job->gres_list_req = list_create(NULL);
	list_append(job->gres_list_req, gres);
}

/* Make a victim that is being preempted and has all GPUs of the first node. */
static void make_victim(int nodes)
{
	static uint16_t cpus[] = { 64 };
	static uint64_t count[] = { GPUS };
	gres_job_state_t *gpus = calloc(1, sizeof(*gpus));
	gres_state_t *gres = calloc(1, sizeof(*gres));
	char name[] = "gpu";

	self.victim = make_job(VICTIM, JOB_RUNNING);
	self.victim->preempt_time = time(NULL);
	self.victim->end_time = time(NULL) + 1000;
	self.victim->job_resrcs = calloc(1, sizeof(job_resources_t));
	self.victim->job_resrcs->cpus = cpus;
	self.victim->job_resrcs->nhosts = 1;
	self.victim->job_resrcs->node_bitmap = bit_alloc(nodes);
	bit_set(self.victim->job_resrcs->node_bitmap, 0);
	gpus->gres_cnt_node_alloc = count;
	gpus->node_cnt = 1;
	gres->plugin_id = gres_build_id(name);
	gres->gres_data = gpus;
	self.victim->gres_list_alloc = list_create(NULL);
	list_append(self.victim->gres_list_alloc, gres);
}

static void make_cluster(int nodes)
{
	node_record_count = nodes;
	node_record_table_ptr = calloc((size_t)nodes, sizeof(void *));
	for (int i = 0; i < nodes; i++)
		node_record_table_ptr[i] = make_node(i);
	self.nodes = bit_alloc(nodes);
	self.taker = make_job(TAKER, JOB_PENDING);
	self.taker->priority = 2;
	self.taker->details->preempt_start_time = time(NULL);
	make_gpus(self.taker, GPUS / 2);
	make_victim(nodes);
	job_list = list_create(NULL);
	list_append(job_list, self.taker);
	list_append(job_list, self.victim);
	self.candidates = list_create(NULL);
	list_append(self.candidates, self.victim);
}

static void test_of(job_record_t *job, uint16_t mode, egs_list candidates)
{
	egs_list victims = NULL;
	struct egs_job_test test = { .job = job,
				     .nodes = self.nodes,
				     .min_nodes = 1,
				     .max_nodes = 1,
				     .req_nodes = 1,
				     .mode = mode,
				     .candidates = candidates,
				     .victims = &victims };
#if EGS_SLURM_SINCE(24, 11)
	will_run_data_t will_run = { .start = self.start };

	if (self.start)
		test.will_run = &will_run;
#endif
	bit_set_all(self.nodes);
	self.rc = select_p_job_test(EGS_JOB_TEST_OF(&test));
	if (victims)
		FREE_NULL_LIST(victims);
}

static void test_job(uint16_t mode, egs_list candidates)
{
	test_of(self.taker, mode, candidates);
}

static void plain_test(void)
{
	test_job(SELECT_MODE_WILL_RUN, NULL);
}

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

static void end(void)
{
	select_p_job_fini(self.victim);
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

/* Set the number of free GPUs of the nodes 'first' to 'last'. */
static void leave_free(int first, int last, uint64_t gpus)
{
	for (int i = first; i <= last; i++) {
		const gres_state_t *gres =
			list_peek(node_record_table_ptr[i]->gres_list);

		((gres_node_state_t *)gres->gres_data)->gres_cnt_alloc =
			GPUS - gpus;
	}
}

/* Count the nodes on which a job with 'gpus' GPUs that was requeued 'restarts'
 * times is tested first.
 */
static int offered_to(part_record_t *partition, uint64_t gpus,
		      uint32_t restarts)
{
	job_record_t *job = make_job(TAKER, JOB_PENDING);

	job->part_ptr = partition;
	make_gpus(job, gpus);
	job->restart_cnt = (uint16_t)restarts;
	self.offered = -1;
	test_of(job, SELECT_MODE_WILL_RUN, NULL);
	return self.offered;
}

static int offered(uint64_t gpus)
{
	return offered_to(NULL, gpus, 0);
}

/* A job for half of a node prefers a node whose other half is in use. */
static void packing(void)
{
	part_record_t spread = { .flags = PART_FLAG_LLN };

	leave_free(0, 15, 0);
	end();
	is_int(offered(4), 16, "a job prefers no node of a full cluster");
	leave_free(1, 3, 8);
	leave_free(4, 5, 4);
	end();
	is_int(offered(4), 2, "a job prefers nodes that it fills");
	is_int(offered(5), 3, "a larger job prefers nodes with room");
	is_int(offered(3), 2,
	       "a smaller job prefers nodes with the least room");
	is_int(offered(9), 16, "a job that fits nowhere prefers no node");
	is_int(offered(0), 16, "a job without GPUs prefers no node");
	slurm_conf.select_type_param = EGS_SELECT_LLN;
	is_int(offered(4), 16, "with CR_LLN a job prefers no node");
	slurm_conf.select_type_param = 0;
	is_int(offered_to(&spread, 4, 0), 16,
	       "in a partition with LLN=YES a job prefers no node");
	spread.flags = 0;
	is_int(offered_to(&spread, 4, 0), 2,
	       "in another partition a job prefers nodes that it fills");
	leave_free(1, 15, 4);
	leave_free(0, 0, 0);
	end();
	is_int(offered(4), 15, "a node without GPUs is not preferred");
	leave_free(0, 15, 0);
	end();
}

/* Set the sequence number of the marks in the table; 0: being written. */
static void set_marked(uint64_t seq)
{
	int fd = open("table", O_WRONLY | O_CLOEXEC);

	for (size_t i = 0; i < 2; i++)
		if (pwrite(fd, &seq, sizeof(seq),
			   (off_t)(offsetof(struct egs_table_file, marks_slot) +
				   i * sizeof(struct egs_table_marks_slot))) <
		    0)
			perror("table");
	close(fd);
}

/* The daemon publishes that the first node is fenced. */
static void fencing(void)
{
	struct egs_table_marks *marks = calloc(1, sizeof(*marks));
	int before = offered(9);

	marks->nnodes = 1;
	marks->node[0].flags = EGS_TABLE_FENCED;
	snprintf(marks->node[0].name, EGS_TABLE_NAME_SIZE, "first");
	egs_table_publish_marks(place.table, marks);
	set_marked(0);
	is_int(offered(9), before, "marks that are being written are not read");
	set_marked(1);
	is_int(offered(9), before - 1, "marks are read when they are complete");
	self.taker->details->req_node_bitmap = bit_alloc(node_record_count);
	bit_set(self.taker->details->req_node_bitmap, 0);
	plain_test();
	ok(!self.open, "a job that requires a fenced node does not get it");
	FREE_NULL_BITMAP(self.taker->details->req_node_bitmap);
	plain_test();
	ok(!self.open, "a job that requires no node gets no fenced node");
	marks->node[0].flags = 0;
	marks->node[0].tiers = 2;
	marks->tiers.has_nodes = 3;
	egs_table_publish_marks(place.table, marks);
	is_int(offered(9), 0, "a tier whose nodes do not exist has no node");
	marks->node[0].tiers = 1;
	egs_table_publish_marks(place.table, marks);
	is_int(offered(9), 1, "a tier with a node stays there");
	marks->tiers.may_spill = 1;
	egs_table_publish_marks(place.table, marks);
	is_int(offered(9), 1, "a tier that spills prefers its node");
	marks->tiers.may_spill = marks->tiers.has_nodes = 0;
	egs_table_publish_marks(place.table, marks);
	is_int(offered(9), before,
	       "a job gets all nodes when the marks are gone");
	free(marks);
}

/* slurmctld has just started, and one node has answered. */
static void silent_nodes(void)
{
	time_t now = time(NULL);

	slurmctld_config.boot_time = now - 60;
	node_record_table_ptr[3]->last_response = now;
	is_int(offered_to(NULL, 0, 1), 1,
	       "after a restart of slurmctld a requeued job gets no node that "
	       "has not answered");
	is_int(offered(0), 16,
	       "a job that was not requeued gets all nodes "
	       "after a restart of slurmctld");
	node_record_table_ptr[5]->node_state = NODE_STATE_FUTURE;
	is_int(offered_to(NULL, 0, 1), 2,
	       "no answer is expected from a node in "
	       "state FUTURE");
	node_record_table_ptr[5]->node_state = NODE_STATE_IDLE;
	slurmctld_config.boot_time = now - 121;
	is_int(offered_to(NULL, 0, 1), 16,
	       "two minutes after a restart of slurmctld a requeued job gets "
	       "all nodes");
}

/* ---- limits of a team ---- */

/* Publish that the taker wants 'gpus' GPUs and that the limit of its team
 * leaves 'room' beside them.  The daemon has read the update of 'changed_us'.
 */
static void publish_limit(uint16_t gpus, uint16_t room, uint64_t changed_us)
{
	struct egs_table_job row = make_row(TAKER);

	row.recall_from = 0;
	row.protected_until = (uint32_t)changed_us;
	row.team = 0;
	row.gpus = gpus;
	row.room = room;
	egs_table_publish(place.table, &row, 1, time(NULL));
}

/* May the taker start if Slurm has selected these GPUs of the first node? */
static bool may_start(uint64_t gpus)
{
	static uint64_t selected[64];
	const gres_state_t *gres = list_peek(self.taker->gres_list_req);
	gres_job_state_t *job = gres->gres_data;

	selected[0] = gpus;
	job->gres_cnt_node_select = selected;
	job->total_node_cnt = 1;
	test_job(SELECT_MODE_RUN_NOW, NULL);
	job->gres_cnt_node_select = NULL;
	return self.rc == SLURM_SUCCESS;
}

/* May it start if an update has changed it then? */
static bool may_start_after_update(uint64_t changed_us)
{
	char comment[64];
	bool may;

	snprintf(comment, sizeof(comment), "egs:1;limited;changed=%llx",
		 (unsigned long long)changed_us);
	self.taker->admin_comment = comment;
	may = may_start(4);
	self.taker->admin_comment = NULL;
	return may;
}

/* The row of a job may be older than its last update. */
static void limits(void)
{
	uint64_t now_us = (uint64_t)time(NULL) * 1000000;

	publish_limit(4, 2, 0);
	ok(may_start(4), "a job starts with the GPUs of its row");
	ok(may_start(6), "a job may get more GPUs if its limit leaves them");
	ok(!may_start(7), "an update before the start does not lift a limit");
	publish_limit(0, 2, 0);
	ok(may_start(0), "a job without GPUs starts");
	self.taker->details->whole_node = WHOLE_NODE_REQUIRED;
	ok(!may_start(0), "an exclusive job counts with all GPUs of its nodes");
	self.taker->details->whole_node = 0;
	publish_limit(4, EGS_TABLE_NO_LIMIT, 0);
	ok(may_start(16), "a job without a limit gets any number of GPUs");
	publish_limit(4, 2, now_us);
	ok(may_start_after_update(now_us),
	   "a job starts when the daemon has read its update");
	ok(!may_start_after_update(now_us + 1),
	   "a job waits until the daemon has read its update");
	ok(may_start_after_update(now_us - 3601 * UINT64_C(1000000)),
	   "a job does not wait for ever until its update is read");
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
	packing();
	fencing();
	silent_nodes();
	limits();
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
