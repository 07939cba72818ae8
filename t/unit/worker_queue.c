/* worker_queue.c - the requests that wait for the worker: order and bounds */
#include <stdio.h>
#include <string.h>

#include "policyd/slurm/worker_queue.h"
#include "t/lib/unit/tap.h"

static struct egs_worker_queue queue;

static int add_read(uint32_t job_id)
{
	return egs_worker_queue_add(&queue, &(struct egs_worker_request){
						    .kind = EGS_WORKER_READ_JOB,
						    .job_id = job_id });
}

static int add_poll(bool full)
{
	return egs_worker_queue_add(
		&queue, &(struct egs_worker_request){ .kind = EGS_WORKER_POLL,
						      .full_poll = full });
}

static int add_act(uint64_t id)
{
	return egs_worker_queue_add(
		&queue, &(struct egs_worker_request){ .kind = EGS_WORKER_ACT,
						      .action_id = id,
						      .job = "12" });
}

static int add_resize(uint32_t job_id, uint32_t gpus, enum egs_resize_way way)
{
	return egs_worker_queue_add(
		&queue,
		&(struct egs_worker_request){ .kind = EGS_WORKER_RESIZE,
					      .resize = { .job_id = job_id,
							  .gpus = gpus,
							  .way = way } });
}

/* The whole queue as a text: "a1 p r7 " and so on; "P" is a full poll. */
static const char *take_all(void)
{
	static char text[256];
	struct egs_worker_request r;
	size_t used = 0;

	text[0] = '\0';
	while (egs_worker_queue_take(&queue, &r) && used < sizeof(text) - 32) {
		char *to = text + used;
		size_t room = sizeof(text) - used;

		if (r.kind == EGS_WORKER_POLL)
			snprintf(to, room, r.full_poll ? "P " : "p ");
		else if (r.kind == EGS_WORKER_ACT)
			snprintf(to, room, "a%d ", (int)r.action_id);
		else if (r.kind == EGS_WORKER_RESIZE)
			snprintf(to, room, "s%u=%u ", r.resize.job_id,
				 r.resize.gpus);
		else
			snprintf(to, room, "r%u ", r.job_id);
		used = strlen(text);
	}
	return text;
}

static void test_order(void)
{
	add_read(7);
	add_read(8);
	add_act(1);
	add_poll(false);
	add_act(2);
	add_resize(7, 2, EGS_RESIZE_GPUS);
	is_str(take_all(), "a1 p a2 s7=2 r7 r8 ",
	       "polls, actions and resizes keep their order and precede reads");
	is_str(take_all(), "", "an empty queue has no request");
}

static void test_once(void)
{
	add_read(7);
	add_read(8);
	add_read(7);
	is_str(take_all(), "r7 r8 ", "a job waits once to be read");
	add_poll(true);
	add_act(0);
	add_poll(false);
	add_act(0);
	is_str(take_all(), "P a0 ",
	       "a second poll and an equal action add nothing");
	add_resize(7, 2, EGS_RESIZE_GPUS);
	add_resize(7, 0, EGS_RESIZE_CANCEL);
	add_resize(7, 3, EGS_RESIZE_GPUS);
	ok(egs_worker_queue_has_resize(&queue, 7) &&
		   !egs_worker_queue_has_resize(&queue, 8),
	   "the queue knows whether a resize of a job waits");
	is_str(take_all(), "s7=3 s7=0 ",
	       "a job waits for one resize in each way, with the last number");
	ok(!egs_worker_queue_has_resize(&queue, 7),
	   "a resize that was taken does not wait");
}

static void test_bounds(void)
{
	uint32_t id = 1;
	uint64_t act = 1;

	while (add_read(id) == 0 && id < 100000)
		id++;
	is_int(id - 1, EGS_WORKER_READS_MAX, "the number of reads is bounded");
	is_int(add_read(1), 0, "a read that waits already is no error");
	while (add_act(act) == 0 && act < 100000)
		act++;
	is_int((intmax_t)act - 1, EGS_WORKER_ACTS_MAX,
	       "the number of actions is bounded");
	is_int(add_poll(false), 0, "a poll fits into a full queue");
	egs_worker_queue_clear(&queue);
	is_str(take_all(), "", "a queue that was cleared is empty");
}

/* The ring of reads passes its end. */
static void test_ring(void)
{
	struct egs_worker_request r = { .job_id = 0 };
	uint32_t in_order = 0;

	for (uint32_t id = 1; id <= 1000; id++) {
		add_read(id);
		add_read(id + 1000000);
		egs_worker_queue_take(&queue, &r);
		egs_worker_queue_take(&queue, &r);
		in_order += r.job_id == id + 1000000;
	}
	is_int(in_order, 1000, "two thousand reads leave in their order");
}

int main(void)
{
	plan_none();
	egs_worker_queue_init(&queue);
	test_order();
	test_once();
	test_bounds();
	test_ring();
	egs_worker_queue_clear(&queue);
	return done_testing();
}
