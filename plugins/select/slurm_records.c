/* slurm_records.c - GPUs, cores and memory in the records of Slurm */
#include "plugins/select/slurm_records.h"

static uint32_t get_gpu_plugin_id(void)
{
	static _Atomic uint32_t id;
	char gpu[] = "gpu";

	if (!id)
		id = gres_build_id(gpu);
	return id;
}

/* The result of list_for_each(); an iterator would allocate memory. */
struct gpu_records {
	gres_state_t *first;
	uint32_t count;
};

static int add_gpu_record(void *item, void *arg)
{
	gres_state_t *gres = item;
	struct gpu_records *found = arg;

	if (gres->plugin_id != get_gpu_plugin_id() || !gres->gres_data)
		return 0;
	if (!found->count++)
		found->first = gres;
	return 0;
}

static struct gpu_records find_gpu_records(egs_list list)
{
	struct gpu_records found = { .count = 0 };

	if (list)
		list_for_each(list, add_gpu_record, &found);
	return found;
}

static const gres_node_state_t *get_node_gpus(const node_record_t *node)
{
	struct gpu_records found = find_gpu_records(node->gres_list);

	return found.first ? found.first->gres_data : NULL;
}

static uint32_t divide_up(uint64_t count, uint64_t by)
{
	return by ? (uint32_t)((count + by - 1) / by) : 0;
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Count all GPUs of a type on a node; 0: of any. */
static uint64_t count_gpus(const gres_node_state_t *gpus, uint32_t type_id)
{
	uint64_t sum = 0;

	if (!type_id)
		return gpus->gres_cnt_avail;
	for (int i = 0; i < gpus->type_cnt; i++)
		if (gpus->type_id[i] == type_id)
			sum += gpus->type_cnt_avail[i];
	return sum;
}

/* How many of 'count' GPUs of a node have the type?  'bits' are their indices,
 * NULL: unknown.
 */
static uint64_t count_of_type(const gres_node_state_t *gpus, uint32_t type_id,
			      bitstr_t *bits, uint64_t count)
{
	uint64_t sum = 0;

	if (!type_id || count_gpus(gpus, type_id) == gpus->gres_cnt_avail)
		return count;
	for (int i = 0; bits && i < gpus->topo_cnt; i++)
		if (gpus->topo_type_id[i] == type_id &&
		    bit_size(bits) == bit_size(gpus->topo_gres_bitmap[i]))
			sum += (uint64_t)bit_overlap(bits,
						     gpus->topo_gres_bitmap[i]);
	return sum;
}

uint32_t egs_slurm_records_free_gpus(const node_record_t *node,
				     uint32_t type_id)
{
	const gres_node_state_t *gpus = get_node_gpus(node);
	uint64_t all, used;

	if (!gpus)
		return 0;
	all = count_gpus(gpus, type_id);
	used = count_of_type(gpus, type_id, gpus->gres_bit_alloc,
			     gpus->gres_cnt_alloc);
	return all > used ? (uint32_t)(all - used) : 0;
}

struct egs_search_node egs_slurm_records_node(const node_record_t *node,
					      uint32_t type_id)
{
	struct egs_search_node p = { .gpus = egs_slurm_records_free_gpus(
					     node, type_id),
				     .cores = node->cpus_efctv };
	uint64_t mem = node->real_memory;

	if (mem > node->mem_spec_limit)
		mem -= node->mem_spec_limit;
	p.mem_mb = (uint32_t)mem;
	return p;
}

struct held_gpus {
	const gres_node_state_t *gpus;
	uint32_t at, type_id;
	uint64_t count;
};

static int add_held_gpus(void *item, void *arg)
{
	const gres_state_t *gres = item;
	const gres_job_state_t *job = gres->gres_data;
	struct held_gpus *h = arg;

	if (gres->plugin_id != get_gpu_plugin_id() || !job ||
	    h->at >= job->node_cnt || !job->gres_cnt_node_alloc)
		return 0;
	h->count += count_of_type(
		h->gpus, h->type_id,
		job->gres_bit_alloc ? job->gres_bit_alloc[h->at] : NULL,
		job->gres_cnt_node_alloc[h->at]);
	return 0;
}

struct egs_allocation egs_slurm_records_allocation(const job_record_t *job,
						   uint32_t at,
						   const node_record_t *node,
						   uint32_t type_id)
{
	const job_resources_t *res = job->job_resrcs;
	struct held_gpus h = { .gpus = get_node_gpus(node),
			       .at = at,
			       .type_id = type_id };
	struct egs_allocation hold = { .gpus = 0 };

	if (h.gpus && job->gres_list_alloc)
		list_for_each(job->gres_list_alloc, add_held_gpus, &h);
	hold.gpus = (uint32_t)h.count;
	/* A suspended job has released its cores, and nothing else. */
	if (res->cpus && IS_JOB_RUNNING(job))
		hold.cores = res->cpus[at];
	if (res->memory_allocated)
		hold.mem_mb = (uint32_t)res->memory_allocated[at];
	return hold;
}

const job_record_t *egs_slurm_records_component(const job_record_t *job,
						uint32_t i)
{
	const job_record_t *other =
		job->het_job_id ? find_job_record(job->het_job_id + i) : NULL;

	return other && other->het_job_id == job->het_job_id ? other : NULL;
}

static int sum_held_gpus(void *item, void *arg)
{
	const gres_state_t *gres = item;
	const gres_job_state_t *job = gres->gres_data;
	uint64_t *sum = arg;

	if (gres->plugin_id != get_gpu_plugin_id() || !job ||
	    !job->gres_cnt_node_alloc)
		return 0;
	for (uint32_t i = 0; i < job->node_cnt; i++)
		*sum += job->gres_cnt_node_alloc[i];
	return 0;
}

uint32_t egs_slurm_records_held_gpus(const job_record_t *job)
{
	uint64_t sum = 0;

	if (job->gres_list_alloc)
		list_for_each(job->gres_list_alloc, sum_held_gpus, &sum);
	return (uint32_t)sum;
}

/* Slurm gives an exclusive job all GPUs of its nodes, after the test. */
static uint32_t sum_node_gpus(bitstr_t *nodes)
{
	uint64_t sum = 0;

	for (int i = 0; i < node_record_count; i++) {
		const gres_node_state_t *gpus = NULL;

		if (node_record_table_ptr[i] && bit_test(nodes, i))
			gpus = get_node_gpus(node_record_table_ptr[i]);
		if (gpus)
			sum += gpus->gres_cnt_avail;
	}
	return (uint32_t)sum;
}

struct selected_gpus {
	bitstr_t *nodes;
	uint64_t sum;
};

static int sum_selected_gpus(void *item, void *arg)
{
	const gres_state_t *gres = item;
	const gres_job_state_t *job = gres->gres_data;
	struct selected_gpus *s = arg;

	if (gres->plugin_id != get_gpu_plugin_id() || !job ||
	    !job->gres_cnt_node_select)
		return 0;
	for (uint32_t i = 0; i < job->total_node_cnt; i++)
		if (bit_test(s->nodes, i))
			s->sum += job->gres_cnt_node_select[i];
	return 0;
}

static bool gets_whole_nodes(const job_record_t *job)
{
	return job->details && job->details->whole_node & WHOLE_NODE_REQUIRED;
}

bool egs_slurm_records_has_selected(const struct egs_job_test *test)
{
	return test->mode == SELECT_MODE_RUN_NOW || gets_whole_nodes(test->job);
}

uint32_t egs_slurm_records_selected_gpus(const struct egs_job_test *test)
{
	struct selected_gpus s = { .nodes = test->nodes };

	if (gets_whole_nodes(test->job))
		return sum_node_gpus(test->nodes);
	if (test->job->gres_list_req)
		list_for_each(test->job->gres_list_req, sum_selected_gpus, &s);
	return (uint32_t)s.sum;
}

/* The most GPUs, the fewest cores and the least memory of any of the nodes. */
static struct egs_search_node find_extremes(const bitstr_t *nodes,
					    uint32_t type_id)
{
	struct egs_search_node e = { .cores = UINT32_MAX,
				     .mem_mb = UINT32_MAX };

	for (int i = 0; i < node_record_count; i++) {
		const node_record_t *node = node_record_table_ptr[i];
		const gres_node_state_t *gpus;

		if (!node || !bit_test((bitstr_t *)nodes, i))
			continue;
		gpus = get_node_gpus(node);
		if (gpus)
			e.gpus = max_u32(e.gpus,
					 (uint32_t)count_gpus(gpus, type_id));
		if (node->cpus_efctv < e.cores)
			e.cores = node->cpus_efctv;
		if (node->real_memory < e.mem_mb)
			e.mem_mb = (uint32_t)node->real_memory;
	}
	return e;
}

/* Convert GPUs per job into GPUs per node and nodes. */
static void spread_gpus(const gres_job_state_t *gpus, const job_record_t *job,
			uint32_t largest, struct egs_need *need)
{
	uint64_t all = gpus->gres_per_job;

	need->gpus = (uint32_t)gpus->gres_per_node;
	if (!all && !need->gpus && job->details->num_tasks)
		all = gpus->gres_per_task * job->details->num_tasks;
	if (!all)
		return;
	if (need->gpus)
		largest = need->gpus;
	need->nodes = max_u32(need->nodes, divide_up(all, largest));
	need->gpus = max_u32(need->gpus, divide_up(all, need->nodes));
}

static void fill_cores(const gres_job_state_t *gpus, const job_record_t *job,
		       struct egs_need *need)
{
	const __typeof__(*job->details) *d = job->details;
	uint32_t per_task = d->cpus_per_task ? d->cpus_per_task : 1;

	need->cores = max_u32(1, divide_up(d->min_cpus, need->nodes));
	if (d->pn_min_cpus != NO_VAL)
		need->cores = max_u32(need->cores, d->pn_min_cpus);
	if (d->ntasks_per_node && d->ntasks_per_node != NO_VAL16 &&
	    per_task != NO_VAL16)
		need->cores =
			max_u32(need->cores, d->ntasks_per_node * per_task);
	if (gpus && gpus->cpus_per_gres)
		need->cores =
			max_u32(need->cores, gpus->cpus_per_gres * need->gpus);
}

static void fill_memory(const gres_job_state_t *gpus, const job_record_t *job,
			uint32_t smallest, struct egs_need *need)
{
	uint64_t mem = job->details->pn_min_memory;

	if (gpus && gpus->mem_per_gres)
		mem = gpus->mem_per_gres * need->gpus;
	else if (mem & MEM_PER_CPU)
		mem = (mem & ~MEM_PER_CPU) * need->cores;
	/* If Slurm allocates memory, a job without a request gets all of it. */
	if (!mem && (slurm_conf.select_type_param & EGS_SELECT_MEMORY))
		mem = smallest;
	need->mem_mb = mem > UINT32_MAX ? UINT32_MAX : (uint32_t)mem;
}

/* Start with the GPU request; false if it cannot be converted per node. */
static bool init_need(const job_record_t *job, uint32_t min_nodes,
		      struct egs_job_need *want, const gres_job_state_t **gpus)
{
	struct gpu_records found = find_gpu_records(job->gres_list_req);

	*gpus = found.first ? found.first->gres_data : NULL;
	if (!job->details || found.count > 1 ||
	    (*gpus && (*gpus)->gres_per_socket))
		return false;
	*want = (struct egs_job_need){ .need = { .nodes = max_u32(1, min_nodes),
						 .type = EGS_TYPE_ANY },
				       .type_id =
					       *gpus ? (*gpus)->type_id : 0 };
	return true;
}

bool egs_slurm_records_gpu_need(const job_record_t *job, uint32_t min_nodes,
				struct egs_job_need *want)
{
	const gres_job_state_t *gpus;

	if (!init_need(job, min_nodes, want, &gpus))
		return false;
	if (gpus)
		spread_gpus(gpus, job, UINT32_MAX, &want->need);
	return true;
}

bool egs_slurm_records_need(const job_record_t *job, const bitstr_t *nodes,
			    uint32_t min_nodes, struct egs_job_need *want)
{
	const gres_job_state_t *gpus;
	struct egs_search_node e;

	if (!init_need(job, min_nodes, want, &gpus))
		return false;
	e = find_extremes(nodes, want->type_id);
	if (gpus)
		spread_gpus(gpus, job, e.gpus, &want->need);
	fill_cores(gpus, job, &want->need);
	if (job->details->whole_node & WHOLE_NODE_REQUIRED)
		want->need.cores = e.cores;
	fill_memory(gpus, job, e.mem_mb, &want->need);
	return true;
}
