/* select_cluster.h - select/egs without slurmctld: a full cluster of nodes with
 * 8 GPUs each, and a stand-in for cons_tres that answers at once
 */
#ifndef EGS_T_SELECT_CLUSTER_H
#define EGS_T_SELECT_CLUSTER_H

#include <dlfcn.h>

#include "t/slurm/records.h"

#define GPUS   8
#define TAKER  1
#define VICTIM 2
#define OTHER  3
#define SECOND (TAKER + 1) /* component of the taker */
#define MANY   100	   /* a job with components of these ids */
#define NMANY  32

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
	job_record_t *second; /* component of the taker, NULL: none */
	job_record_t *many[NMANY];
	uint32_t lookups; /* of jobs by their id */
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
	self.lookups++;
	if (job_id >= MANY && job_id < MANY + NMANY)
		return self.many[job_id - MANY];
	return job_id == TAKER	  ? self.taker
	       : job_id == SECOND ? self.second
				  : NULL;
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

static inline int job_test(EGS_JOB_TEST_PARAMS)
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

static inline int job_call(job_record_t *job)
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

static inline node_record_t *make_node(int index)
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

static inline void make_gpus(job_record_t *job, uint64_t count)
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
static inline void make_victim(int nodes)
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

static inline void make_cluster(int nodes)
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

static inline void test_of(job_record_t *job, uint16_t mode,
			   egs_list candidates)
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

static inline void test_job(uint16_t mode, egs_list candidates)
{
	test_of(self.taker, mode, candidates);
}

static inline void plain_test(void)
{
	test_job(SELECT_MODE_WILL_RUN, NULL);
}

static inline void end(void)
{
	select_p_job_fini(self.victim);
}

#endif
