/* attribute_ended.c - whose the processes are that have ended on GPUs
 *
 * Job 7 has GPU 0 since a minute; job 8 has had GPU 1 since a second.
 */
#include "noded/noded.h"
#include "t/lib/unit/tap.h"

static struct egs_noded noded;
static struct egs_job_orders orders[2];
static struct egs_gpu_process list[EGS_GPU_PROCESSES_MAX];

/* The sampler process tells of 'n' processes of this GPU and age.  Returns how
 * many the request to egs-policyd has.
 */
static uint32_t tell(uint32_t gpu, int64_t age_ms, uint32_t n)
{
	struct egs_msg *batch = egs_msg_new();
	uint32_t sent;

	for (uint32_t i = 0; i < n; i++)
		list[i] = (struct egs_gpu_process){ .gpu = gpu,
						    .age_ms = age_ms };
	egs_gpu_process_set(batch, list, n);
	egs_noded_attribute_ended(&noded, batch);
	sent = egs_gpu_process_read(batch, list);
	egs_msg_free(batch);
	return sent;
}

static void see_jobs(size_t n)
{
	noded.orders = orders;
	noded.norders = n;
	noded.orders_ms = egs_now_ms();
	egs_noded_update_tenures(&noded);
}

static void test_jobs(void)
{
	orders[0] = (struct egs_job_orders){ .job = 7,
					     .restarts = 2,
					     .start = 100,
					     .gpu_set = 1,
					     .age_ms = 60000 };
	orders[1] = (struct egs_job_orders){ .job = 8,
					     .gpu_set = 2,
					     .age_ms = 1000 };
	see_jobs(2);
	is_int(tell(0, 20000, 1), 1, "a process of a job is sent");
	ok(list[0].job_id == 7 && list[0].restarts == 2 && list[0].start == 100,
	   "a process has the attempt that had its GPU");
	is_int(tell(1, 20000, 1), 1, "a process before all jobs is dropped");
	is_int(tell(2, 500, 1), 1, "a process on a GPU of no job is dropped");
	see_jobs(0);
	is_int(tell(1, 900, 1), 2, "a process of a job that has ended is sent");
	is_int(list[1].job_id, 8, "a job that has ended keeps its processes");
}

/* egs-policyd is away. */
static void test_bound(void)
{
	uint32_t sent = 0;

	see_jobs(1);
	for (int i = 0; i < 1000; i++)
		sent = tell(0, 1000, 3);
	is_int(sent, EGS_GPU_PROCESSES_MAX,
	       "processes that wait for egs-policyd have a bound");
	egs_noded_forget_ended(&noded, sent);
	is_int(tell(0, 1000, 0), 0,
	       "processes that egs-policyd has taken are not sent again");
	is_int(tell(0, 1000, 1), 1,
	       "a process that ends later is sent when there is room again");
}

/* The job that had GPU 1 when its XID came; 0: none. */
static uint32_t find_xid_job(uint64_t age_ms)
{
	static struct egs_gpu_sample samples[EGS_GPU_SAMPLES_MAX];
	struct egs_gpu_sample sample = { .gpu = 1, .nxids = 1 };
	struct egs_msg *batch = egs_msg_new();

	sample.xid[0] = (struct egs_gpu_xid){ .number = 31,
					      .count = 4,
					      .age_ms = age_ms };
	egs_gpu_sample_begin(batch);
	egs_gpu_sample_add(batch, &sample);
	egs_noded_attribute_xids(&noded, batch);
	is_int(egs_gpu_sample_read(batch, samples, NULL), 1,
	       "a batch with XIDs keeps its samples");
	egs_msg_free(batch);
	return samples[0].xid[0].count == 4 ? samples[0].xid[0].job_id : 99;
}

/* Job 8 had GPU 1 for a minute; job 9 has it since five seconds. */
static void test_xids(void)
{
	uint64_t now_ms = egs_now_ms();

	noded.tenures = (struct egs_tenures){
		.list = { { .job = 8,
			    .restarts = 1,
			    .gpu_set = 2,
			    .from_ms = now_ms - 65000,
			    .to_ms = now_ms - 5000 },
			  { .job = 9,
			    .gpu_set = 2,
			    .from_ms = now_ms - 5000 } },
		.n = 2,
	};
	is_int(find_xid_job(1000), 9, "an XID is of the job that has the GPU");
	is_int(find_xid_job(20000), 8,
	       "an XID that is older than the job is of the job before");
	is_int(find_xid_job(600000), 0, "an XID before all jobs is of none");
}

int main(void)
{
	plan_none();
	test_jobs();
	test_xids();
	test_bound();
	return done_testing();
}
