/* slurm_records.c - GPUs, cores and memory in the records of Slurm */
#include "plugins/select/slurm_records.h"

static uint32_t gpu_id(void)
{
	static _Atomic uint32_t id;
	char gpu[] = "gpu";

	if (!id)
		id = gres_build_id(gpu);
	return id;
}

/* A list has few entries, and its iterators take memory. */
struct gpus {
	gres_state_t *first;
	uint32_t count;
};

static int see_gpus(void *item, void *arg)
{
	gres_state_t *gres = item;
	struct gpus *found = arg;

	if (gres->plugin_id != gpu_id() || !gres->gres_data)
		return 0;
	if (!found->count++)
		found->first = gres;
	return 0;
}

static struct gpus gpus_of(egs_list list)
{
	struct gpus found = { .count = 0 };

	if (list)
		list_for_each(list, see_gpus, &found);
	return found;
}

static const gres_node_state_t *node_gpus(const node_record_t *node)
{
	struct gpus found = gpus_of(node->gres_list);

	return found.first ? found.first->gres_data : NULL;
}

static uint32_t up(uint64_t count, uint64_t by)
{
	return by ? (uint32_t)((count + by - 1) / by) : 0;
}

static uint32_t most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* All GPUs of a type on a node; 0: of any. */
static uint64_t total(const gres_node_state_t *gpus, uint32_t type_id)
{
	uint64_t sum = 0;

	if (!type_id)
		return gpus->gres_cnt_avail;
	for (int i = 0; i < gpus->type_cnt; i++)
		if (gpus->type_id[i] == type_id)
			sum += gpus->type_cnt_avail[i];
	return sum;
}

/* How many of 'count' GPUs of a node, whose places are 'bits' where Slurm knows
 * them, are of the type.
 */
static uint64_t of_type(const gres_node_state_t *gpus, uint32_t type_id,
			bitstr_t *bits, uint64_t count)
{
	uint64_t sum = 0;

	if (!type_id || total(gpus, type_id) == gpus->gres_cnt_avail)
		return count;
	for (int i = 0; bits && i < gpus->topo_cnt; i++)
		if (gpus->topo_type_id[i] == type_id &&
		    bit_size(bits) == bit_size(gpus->topo_gres_bitmap[i]))
			sum += (uint64_t)bit_overlap(bits,
						     gpus->topo_gres_bitmap[i]);
	return sum;
}

uint32_t egs_record_free(const node_record_t *node, uint32_t type_id)
{
	const gres_node_state_t *gpus = node_gpus(node);
	uint64_t all, used;

	if (!gpus)
		return 0;
	all = total(gpus, type_id);
	used = of_type(gpus, type_id, gpus->gres_bit_alloc,
		       gpus->gres_cnt_alloc);
	return all > used ? (uint32_t)(all - used) : 0;
}

struct egs_place egs_record_node(const node_record_t *node, uint32_t type_id)
{
	struct egs_place p = { .gpus = egs_record_free(node, type_id),
			       .cores = node->cpus_efctv };
	uint64_t mem = node->real_memory;

	if (mem > node->mem_spec_limit)
		mem -= node->mem_spec_limit;
	p.mem_mb = (uint32_t)mem;
	return p;
}

struct held {
	const gres_node_state_t *gpus;
	uint32_t at, type_id;
	uint64_t count;
};

static int add_held(void *item, void *arg)
{
	const gres_state_t *gres = item;
	const gres_job_state_t *job = gres->gres_data;
	struct held *h = arg;

	if (gres->plugin_id != gpu_id() || !job || h->at >= job->node_cnt ||
	    !job->gres_cnt_node_alloc)
		return 0;
	h->count +=
		of_type(h->gpus, h->type_id,
			job->gres_bit_alloc ? job->gres_bit_alloc[h->at] : NULL,
			job->gres_cnt_node_alloc[h->at]);
	return 0;
}

struct egs_hold egs_record_hold(const job_record_t *job, uint32_t at,
				const node_record_t *node, uint32_t type_id)
{
	const job_resources_t *res = job->job_resrcs;
	struct held h = { .gpus = node_gpus(node),
			  .at = at,
			  .type_id = type_id };
	struct egs_hold hold = { .gpus = 0 };

	if (h.gpus && job->gres_list_alloc)
		list_for_each(job->gres_list_alloc, add_held, &h);
	hold.gpus = (uint32_t)h.count;
	/* A suspended job has given up its cores, and nothing else. */
	if (res->cpus && IS_JOB_RUNNING(job))
		hold.cores = res->cpus[at];
	if (res->memory_allocated)
		hold.mem_mb = (uint32_t)res->memory_allocated[at];
	return hold;
}

/* What the largest of the nodes has of the GPUs, and the smallest of cores and
 * memory.
 */
static struct egs_place extremes(const bitstr_t *nodes, uint32_t type_id)
{
	struct egs_place e = { .cores = UINT32_MAX, .mem_mb = UINT32_MAX };

	for (int i = 0; i < node_record_count; i++) {
		const node_record_t *node = node_record_table_ptr[i];
		const gres_node_state_t *gpus;

		if (!node || !bit_test((bitstr_t *)nodes, i))
			continue;
		gpus = node_gpus(node);
		if (gpus)
			e.gpus = most(e.gpus, (uint32_t)total(gpus, type_id));
		if (node->cpus_efctv < e.cores)
			e.cores = node->cpus_efctv;
		if (node->real_memory < e.mem_mb)
			e.mem_mb = (uint32_t)node->real_memory;
	}
	return e;
}

/* GPUs of the job as a whole become so many on so many nodes. */
static void spread(const gres_job_state_t *gpus, const job_record_t *job,
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
	need->nodes = most(need->nodes, up(all, largest));
	need->gpus = most(need->gpus, up(all, need->nodes));
}

static void fill_cores(const gres_job_state_t *gpus, const job_record_t *job,
		       struct egs_need *need)
{
	const __typeof__(*job->details) *d = job->details;
	uint32_t per_task = d->cpus_per_task ? d->cpus_per_task : 1;

	need->cores = most(1, up(d->min_cpus, need->nodes));
	if (d->pn_min_cpus != NO_VAL)
		need->cores = most(need->cores, d->pn_min_cpus);
	if (d->ntasks_per_node && d->ntasks_per_node != NO_VAL16 &&
	    per_task != NO_VAL16)
		need->cores = most(need->cores, d->ntasks_per_node * per_task);
	if (gpus && gpus->cpus_per_gres)
		need->cores =
			most(need->cores, gpus->cpus_per_gres * need->gpus);
}

static void fill_memory(const gres_job_state_t *gpus, const job_record_t *job,
			uint32_t smallest, struct egs_need *need)
{
	uint64_t mem = job->details->pn_min_memory;

	if (gpus && gpus->mem_per_gres)
		mem = gpus->mem_per_gres * need->gpus;
	else if (mem & MEM_PER_CPU)
		mem = (mem & ~MEM_PER_CPU) * need->cores;
	/* Where memory is handed out, none said is all of it. */
	if (!mem && (slurm_conf.select_type_param & EGS_SELECT_MEMORY))
		mem = smallest;
	need->mem_mb = mem > UINT32_MAX ? UINT32_MAX : (uint32_t)mem;
}

/* GPUs of a job that says so; false if that is not so many on each node. */
static bool begin_want(const job_record_t *job, uint32_t min_nodes,
		       struct egs_want *want, const gres_job_state_t **gpus)
{
	struct gpus found = gpus_of(job->gres_list_req);

	*gpus = found.first ? found.first->gres_data : NULL;
	if (!job->details || found.count > 1 ||
	    (*gpus && (*gpus)->gres_per_socket))
		return false;
	*want = (struct egs_want){ .need = { .nodes = most(1, min_nodes),
					     .type = EGS_TYPE_ANY },
				   .type_id = *gpus ? (*gpus)->type_id : 0 };
	return true;
}

bool egs_record_gpus(const job_record_t *job, uint32_t min_nodes,
		     struct egs_want *want)
{
	const gres_job_state_t *gpus;

	if (!begin_want(job, min_nodes, want, &gpus))
		return false;
	if (gpus)
		spread(gpus, job, UINT32_MAX, &want->need);
	return true;
}

bool egs_record_want(const job_record_t *job, const bitstr_t *nodes,
		     uint32_t min_nodes, struct egs_want *want)
{
	const gres_job_state_t *gpus;
	struct egs_place e;

	if (!begin_want(job, min_nodes, want, &gpus))
		return false;
	e = extremes(nodes, want->type_id);
	if (gpus)
		spread(gpus, job, e.gpus, &want->need);
	fill_cores(gpus, job, &want->need);
	if (job->details->whole_node & WHOLE_NODE_REQUIRED)
		want->need.cores = e.cores;
	fill_memory(gpus, job, e.mem_mb, &want->need);
	return true;
}
