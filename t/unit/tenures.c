/* tenures.c - which job had which GPU of a node, and when */
#include "noded/tenures.h"
#include "t/lib/unit/tap.h"

static struct egs_tenures tenures;

/* Job 'job' has the GPUs of 'gpu_set' at 'now_ms', and no other job has any. */
static void see(uint32_t job, uint64_t gpu_set, uint64_t age_ms,
		uint64_t now_ms)
{
	const struct egs_tenure seen = { .job = job,
					 .start = job,
					 .gpu_set = gpu_set };

	egs_tenures_begin(&tenures);
	if (job)
		egs_tenures_see(&tenures, &seen, age_ms, now_ms);
	egs_tenures_end(&tenures, now_ms);
}

static int find(uint32_t gpu, uint64_t at_ms)
{
	const struct egs_tenure *t = egs_tenures_find(&tenures, gpu, at_ms);

	return t ? (int)t->job : 0;
}

static void test_hands(void)
{
	see(7, 0x3, 5000, 100000);
	is_int(find(0, 96000), 7,
	       "a process is of the job that had the GPU when it began");
	is_int(find(2, 96000), 0, "a GPU that no job had has no tenure");
	is_int(find(0, 80000), 0, "a process before the job is of no job");
	see(7, 0x1, 15000, 110000);
	is_int(find(1, 105000), 7,
	       "a process before a shrink is of the job that had the GPU");
	is_int(find(1, 120000), 0, "a GPU that was given back is free");
	see(8, 0x3, 1000, 130000);
	is_int(find(0, 125000), 7,
	       "a process of the last job is still its own");
	is_int(find(0, 129500), 8,
	       "a process of the next job is the next job's");
	is_int(find(1, 129500), 8, "each GPU has its own history");
	see(0, 0, 0, 140000);
	is_int(find(0, 141000), 8,
	       "a process that ends with its job is the job's");
	is_int(find(0, 150000), 0, "a GPU without a job has no tenure");
}

static void test_grow(void)
{
	see(9, 0x1, 1000, 200000);
	see(9, 0x5, 11000, 210000);
	is_int(find(2, 205000), 0, "a GPU counts from when the job got it");
	is_int(find(2, 212000), 9, "a GPU that a job got later is its own");
	is_int(find(0, 205000), 9,
	       "a GPU that a job kept is its own all along");
}

static void test_bound(void)
{
	see(1000, 0x10, 0, 300000);
	for (uint32_t i = 0; i < 2 * EGS_TENURES_MAX; i++)
		see(2000 + i, 0x1, 0, 300000 + i * 1000);
	is_int(tenures.n, EGS_TENURES_MAX, "a history has a bound");
	is_int(find(0, 300000 + (2 * EGS_TENURES_MAX - 2) * 1000 + 500),
	       2000 + 2 * EGS_TENURES_MAX - 2,
	       "the last tenures are kept when the history is full");
}

int main(void)
{
	plan_none();
	test_hands();
	test_grow();
	test_bound();
	return done_testing();
}
