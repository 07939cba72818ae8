/* select_nodes.c - on which nodes select/egs lets a job start */
#include "t/slurm/select_cluster.h"

#include <fcntl.h>

#include "common/ipc/table_layout.h"
#include "t/lib/unit/tap.h"

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

	job->het_job_id = self.taker->het_job_id;
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
	self.taker->het_job_id = TAKER;
	is_int(offered(4), 16,
	       "a component of a heterogeneous job prefers no node");
	self.taker->het_job_id = 0;
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
	test_job(SELECT_MODE_WILL_RUN, NULL);
	is_int(self.rc, SLURM_ERROR,
	       "no node is planned for an exclusive job beyond its limit");
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

/* ---- heterogeneous jobs ---- */

static struct egs_table_job make_component_row(uint32_t id, uint8_t gpus,
					       uint16_t room)
{
	struct egs_table_job row = make_row(id);

	row.recall_from = row.protected_until = 0;
	row.team = 0;
	row.gpus = gpus;
	row.room = room;
	return row;
}

/* Publish the rows of the taker, which wants 4 GPUs, and of its component
 * SECOND, which wants 2, as the daemon does: 'room' is beside both.
 */
static void publish_components(uint16_t room, uint8_t flags, bool both)
{
	struct egs_table_job row[] = { make_component_row(TAKER, 4, room),
				       make_component_row(SECOND, 2, room) };

	row[1].fate_and_flags = flags;
	egs_table_publish(place.table, row, both ? 2 : 1, time(NULL));
}

/* The component has started with these GPUs. */
static void start_component(job_record_t *job, uint64_t gpus)
{
	static uint64_t count[1];
	gres_job_state_t *held = calloc(1, sizeof(*held));
	gres_state_t *gres = calloc(1, sizeof(*gres));
	char name[] = "gpu";

	count[0] = gpus;
	held->gres_cnt_node_alloc = count;
	held->node_cnt = 1;
	gres->plugin_id = gres_build_id(name);
	gres->gres_data = held;
	job->gres_list_alloc = list_create(NULL);
	list_append(job->gres_list_alloc, gres);
	job->job_state = JOB_RUNNING;
	end();
}

/* Slurm starts components one by one and kills them if the last is refused. */
static void components(void)
{
	job_record_t *other = make_job(SECOND, JOB_PENDING);
	char comment[] = "egs:1;limited";
	const struct egs_table_modes modes = { .site = EGS_MODE_ENFORCE };

	egs_table_publish_modes(place.table, &modes);
	self.victim->job_state = JOB_COMPLETE; /* it has the same id */
	list_append(job_list, other);
	self.second = other;
	self.taker->het_job_id = other->het_job_id = TAKER;
	publish_components(0, 0, true);
	ok(may_start(4), "a component starts if all of its job may start");
	publish_components(0, EGS_TABLE_DEFERRED, true);
	ok(!may_start(4), "a component waits for one that is over a limit");
	test_job(SELECT_MODE_WILL_RUN, NULL);
	is_int(self.rc, SLURM_ERROR,
	       "no node is planned for a component if another may not start");
	publish_components(0, 0, false);
	other->details->submit_time = time(NULL);
	other->admin_comment = comment;
	ok(!may_start(4), "a component waits until all have a decision");
	other->admin_comment = NULL;
	other->details->submit_time = SUBMIT;
	publish_components(0, 0, true);
	start_component(other, 2);
	ok(may_start(4),
	   "a component that has started takes no room of others");
	start_component(other, 3);
	ok(!may_start(4),
	   "a component that got more GPUs takes room of others");
	self.taker->het_job_id = 0;
	start_component(other, 2);
	ok(!may_start(4), "a job of the team that has started takes room");
}

/* Backfill tests every component, and each test looks at all of them. */
static void many_components(void)
{
	struct egs_table_job row[NMANY + 1];

	self.second->job_state = JOB_COMPLETE;
	end();
	self.taker->het_job_id = MANY;
	row[NMANY] = make_component_row(TAKER, 4, 0);
	for (uint32_t i = 0; i < NMANY; i++) {
		self.many[i] = make_job(MANY + i, JOB_PENDING);
		self.many[i]->het_job_id = MANY;
		row[i] = make_component_row(MANY + i, 1, 0);
	}
	egs_table_publish(place.table, row, NMANY + 1, time(NULL));
	self.lookups = 0;
	ok(may_start(4) && self.lookups > NMANY,
	   "a component of a large job starts after a look at the others");
	ok(self.lookups < 8 * NMANY,
	   "components are not searched again for each of the others");
}

int main(void)
{
	plan_none();
	if (make_place(VICTIM, "") < 0)
		return EXIT_FAILURE;
	make_cluster(16);
	plain_test();
	packing();
	fencing();
	silent_nodes();
	limits();
	components();
	many_components();
	remove_place();
	return done_testing();
}
