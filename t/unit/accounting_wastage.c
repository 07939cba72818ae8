/* accounting_wastage.c - idle GPUs and blocked jobs, charged by hand */
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

static void anew(void)
{
	nnodes = njobs = 0;
}

/* "2 gang, 1 latency; fits" */
static const char *wasted(const struct egs_wastage_counts *of)
{
	size_t at = 0;
	int i;

	text[0] = '\0';
	for (i = 0; i < EGS_CAUSES; i++)
		if (of->by_cause[i])
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       "%s%d %s", at ? ", " : "",
					       (int)of->by_cause[i],
					       egs_wastage_cause_name(i));
	snprintf(text + at, sizeof(text) - at, "%s",
		 of->would_fit ? "; fits" : "");
	return text;
}

static const char *gpus(void)
{
	egs_wastage_compute(&w, EGS_GPUS, node, nnodes, job, njobs);
	return wasted(&w.total);
}

static void test_causes(void)
{
	struct egs_idle_node *n;

	anew();
	add_node(A100, 3);
	is_str(gpus(), "", "idle GPUs nobody wants are not wasted");
	is_int((int)w.total.idle, 3, "but idle");
	add_job(1, 0);
	is_str(gpus(), "", "a job without GPUs wants none");
	anew();
	add_node(A100, 0);
	add_job(1, 1);
	is_str(gpus(), "", "where all is busy nothing is wasted");

	anew();
	n = add_node(A100, 8);
	add_job(1, 2);
	is_str(gpus(), "2 latency; fits", "it fits: no more than it wants");
	ok(w.total.available, "which is the Wastage Ratio's case");
	n->cleaning[EGS_GPUS] = 7;
	is_str(gpus(), "2 teardown", "seven are being cleaned up");
	n->cleaning[EGS_GPUS] = 0;
	n->idle[EGS_CORES] = 1;
	is_str(gpus(), "2 stranded", "no cores with them");
	n->idle[EGS_CORES] = 64;
	n->mem_mb = 9;
	is_str(gpus(), "2 stranded", "no memory with them");
	n->mem_mb = 1000;
	job[0].limited = true;
	is_str(gpus(), "2 quota; fits", "a limit comes first, and it fits");
	job[0].partitions = 2;
	is_str(gpus(), "2 constraint", "not in its partition");
	n->reserved = true;
	is_str(gpus(), "2 reservation", "reserved");
	n->up = false;
	is_str(gpus(), "2 unhealthy", "and down");
	ok(!w.total.available, "which is not available");
}

static void test_shapes(void)
{
	anew();
	add_node(A100, 3);
	add_node(A100, 3);
	add_job(1, 4);
	is_str(gpus(), "4 fragmentation", "six are idle, never four together");
	njobs = 0;
	add_job(1, 8);
	is_str(gpus(), "6 gang", "eight are wanted and six are there");
	njobs = 0;
	add_job(2, 3);
	is_str(gpus(), "6 latency; fits", "two nodes that fit");
	node[1].idle[EGS_GPUS] = 1;
	njobs = 0;
	add_job(2, 2);
	is_str(gpus(), "4 fragmentation", "two by two, but three and one");
}

static void test_order(void)
{
	anew();
	add_node(A100, 4);
	add_job(1, 8);
	add_job(1, 2);
	is_str(gpus(), "4 gang; fits", "the first in the queue is charged");
	anew();
	add_node(A100, 4);
	add_node(H100, 4)->up = false;
	add_job(1, 1)->type = H100;
	add_job(1, 2)->type = A100;
	is_str(gpus(), "1 unhealthy, 2 latency; fits",
	       "each with those it could use");
	is_str(wasted(&w.type[A100]), "2 latency; fits", "by type: a100");
	is_str(wasted(&w.type[H100]), "1 unhealthy", "by type: h100");
	is_int((int)(egs_wastage_sum(&w.type[A100]) +
		     egs_wastage_sum(&w.type[H100])),
	       (int)egs_wastage_sum(&w.total), "types add up to the whole");
	anew();
	add_node(A100, 2)->up = false;
	add_node(A100, 2);
	add_job(1, 2);
	is_str(gpus(), "2 latency; fits", "what it would get next comes first");
	anew();
	add_node(A100, 4)->partitions = 3;
	add_job(1, 1);
	add_job(1, 2)->partitions = 2;
	gpus();
	is_str(wasted(&w.partition[0]), "1 latency; fits", "by partition");
	is_str(wasted(&w.partition[1]), "2 latency; fits", "and the other");
	is_int((int)w.partition[1].idle, 4, "whose idle GPUs are its own");
}

static void test_cores(void)
{
	anew();
	add_node(A100, 2);
	add_job(1, 0);
	add_job(1, 4)->want[EGS_CORES] = 8;
	egs_wastage_compute(&w, EGS_CORES, node, nnodes, job, njobs);
	is_str(wasted(&w.total), "8 stranded, 4 latency; fits",
	       "cores, too: four for one job, eight that lack GPUs");
	is_int((int)w.total.all, 64, "of all that there are");
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
