/* accounting_wastage.c - waste of idle GPUs, with results made by hand */
#include "common/rules/victims.h"
#include "policyd/accounting/wastage.h"
#include "t/lib/unit/tap.h"

enum { A100, H100 };

static struct egs_idle_node node[4];
static struct egs_blocked_job job[4];
static uint32_t nnodes, njobs;
static struct egs_wastage_compute w;
static char text[256];

/* A node of eight GPUs, of which so many are idle, with 64 cores. */
static struct egs_idle_node *add_node(uint8_t type, uint32_t idle)
{
	struct egs_idle_node *n = &node[nnodes++];

	*n = (struct egs_idle_node){
		.all = { 8, 64 },
		.idle = { idle, 8 * idle },
		.mem_mb = 1000 * idle,
		.partitions = 1,
		.type = type,
		.up = true,
	};
	return n;
}

static struct egs_blocked_job *add_job(uint32_t nodes, uint32_t gpus)
{
	struct egs_blocked_job *j = &job[njobs++];

	*j = (struct egs_blocked_job){
		.nodes = nodes,
		.want = { gpus, gpus ? gpus : 4 },
		.mem_mb = 10,
		.partitions = 1,
		.type = EGS_TYPE_ANY,
	};
	return j;
}

static void reset(void)
{
	nnodes = njobs = 0;
}

/* "2 gang, 1 latency; fits" */
static const char *wasted(const struct egs_wastage_counts *of)
{
	size_t at = 0;

	text[0] = '\0';
	for (int i = 0; i < EGS_CAUSES; i++)
		if (of->by_cause[i])
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       "%s%d %s", at ? ", " : "",
					       (int)of->by_cause[i],
					       egs_wastage_cause_name(i));
	snprintf(text + at, sizeof(text) - at, "%s",
		 of->would_fit ? "; fits" : "");
	return text;
}

static const char *wasted_gpus(void)
{
	egs_wastage_compute(&w, EGS_GPUS, node, nnodes, job, njobs);
	return wasted(&w.total);
}

static void test_causes(void)
{
	struct egs_idle_node *n;

	reset();
	add_node(A100, 3);
	is_str(wasted_gpus(), "",
	       "idle GPUs without a blocked job are not wasted");
	is_int((int)w.total.idle, 3,
	       "idle GPUs without a blocked job count as idle");
	add_job(1, 0);
	is_str(wasted_gpus(), "",
	       "a blocked job that requests no GPU wastes none");
	reset();
	add_node(A100, 0);
	add_job(1, 1);
	is_str(wasted_gpus(), "", "busy GPUs are not wasted");

	reset();
	n = add_node(A100, 8);
	add_job(1, 2);
	is_str(wasted_gpus(), "2 latency; fits",
	       "a job that fits wastes as many GPUs as it requests");
	ok(w.total.available,
	   "GPUs that a blocked job could use are available");
	n->cleaning[EGS_GPUS] = 7;
	is_str(wasted_gpus(), "2 teardown",
	       "GPUs that are cleaned up are charged to teardown");
	n->cleaning[EGS_GPUS] = 0;
	n->idle[EGS_CORES] = 1;
	is_str(wasted_gpus(), "2 stranded",
	       "GPUs without idle cores are stranded");
	n->idle[EGS_CORES] = 64;
	n->mem_mb = 9;
	is_str(wasted_gpus(), "2 stranded",
	       "GPUs without free memory are stranded");
	n->mem_mb = 1000;
	job[0].limited = true;
	is_str(wasted_gpus(), "2 quota; fits",
	       "a limit is the cause even if the job would fit");
	job[0].partitions = 2;
	is_str(wasted_gpus(), "2 constraint",
	       "GPUs outside the partition are charged to constraint");
	n->reserved = true;
	is_str(wasted_gpus(), "2 reservation",
	       "GPUs of a reserved node are charged to reservation");
	n->up = false;
	is_str(wasted_gpus(), "2 unhealthy",
	       "GPUs of a node that is down are charged to unhealthy");
	ok(!w.total.available, "GPUs of a node that is down are not available");
}

static void test_shapes(void)
{
	reset();
	add_node(A100, 3);
	add_node(A100, 3);
	add_job(1, 4);
	is_str(wasted_gpus(), "4 fragmentation",
	       "six idle GPUs, three on a node, do not fit a job of four");
	njobs = 0;
	add_job(1, 8);
	is_str(wasted_gpus(), "6 gang",
	       "six idle GPUs are too few for a job of eight");
	njobs = 0;
	add_job(2, 3);
	is_str(wasted_gpus(), "6 latency; fits",
	       "a job of two nodes fits on two nodes");
	node[1].idle[EGS_GPUS] = 1;
	njobs = 0;
	add_job(2, 2);
	is_str(wasted_gpus(), "4 fragmentation",
	       "three and one idle GPUs do not fit a job of two nodes by two");
}

static void test_order(void)
{
	reset();
	add_node(A100, 4);
	add_job(1, 8);
	add_job(1, 2);
	is_str(wasted_gpus(), "4 gang; fits",
	       "the first job of the queue is charged first");
	reset();
	add_node(A100, 4);
	add_node(H100, 4)->up = false;
	add_job(1, 1)->type = H100;
	add_job(1, 2)->type = A100;
	is_str(wasted_gpus(), "1 unhealthy, 2 latency; fits",
	       "each job is charged with GPUs of its type");
	is_str(wasted(&w.type[A100]), "2 latency; fits",
	       "the waste of type a100 is counted");
	is_str(wasted(&w.type[H100]), "1 unhealthy",
	       "the waste of type h100 is counted");
	is_int((int)(egs_wastage_sum(&w.type[A100]) +
		     egs_wastage_sum(&w.type[H100])),
	       (int)egs_wastage_sum(&w.total),
	       "the waste of types adds up to the total");
	reset();
	add_node(A100, 2)->up = false;
	add_node(A100, 2);
	add_job(1, 2);
	is_str(wasted_gpus(), "2 latency; fits",
	       "a job is charged first with the GPUs it would get next");
	reset();
	add_node(A100, 4)->partitions = 3;
	add_job(1, 1);
	add_job(1, 2)->partitions = 2;
	wasted_gpus();
	is_str(wasted(&w.partition[0]), "1 latency; fits",
	       "the waste of the first partition is counted");
	is_str(wasted(&w.partition[1]), "2 latency; fits",
	       "the waste of the second partition is counted");
	is_int((int)w.partition[1].idle, 4,
	       "idle GPUs count for each partition of the node");
}

static void test_cores(void)
{
	reset();
	add_node(A100, 2);
	add_job(1, 0);
	add_job(1, 4)->want[EGS_CORES] = 8;
	egs_wastage_compute(&w, EGS_CORES, node, nnodes, job, njobs);
	is_str(wasted(&w.total), "8 stranded, 4 latency; fits",
	       "cores are charged: four for one job, eight that lack GPUs");
	is_int((int)w.total.all, 64, "all cores of the node are counted");
}

int main(void)
{
	plan_none();
	test_causes();
	test_shapes();
	test_order();
	test_cores();
	return done_testing();
}
