/* resize_cores.c - cores and memory of a job that is resized */
#include "plugins/job_submit/resize_cores.h"

struct egs_resize_cores egs_resize_cores_new(const job_record_t *job)
{
	const struct job_resources *res = job->job_resrcs;

	return (struct egs_resize_cores){
		.cores = bit_alloc(bit_size(res->core_bitmap)),
		.cpus = xcalloc(res->nhosts, sizeof(uint16_t)),
		.mem_mb = xcalloc(res->nhosts, sizeof(uint64_t)),
	};
}

void egs_resize_cores_free(struct egs_resize_cores *share)
{
	FREE_NULL_BITMAP(share->cores);
	xfree(share->cpus);
	xfree(share->mem_mb);
}

/* The cores of one node in the job's bitmap. */
struct core_range {
	bitoff_t first;
	bitoff_t count;
};

static struct core_range get_core_range(const job_record_t *job, uint32_t n)
{
	uint16_t sockets = 0, cores = 0;

	get_job_resources_cnt(job->job_resrcs, n, &sockets, &cores);
	return (struct core_range){
		.first = get_job_resources_offset(job->job_resrcs, n, 0, 0),
		.count = (bitoff_t)sockets * cores,
	};
}

static uint32_t count_cores(bitstr_t *bits, struct core_range at)
{
	uint32_t count = 0;

	for (bitoff_t i = 0; i < at.count; i++)
		count += bit_test(bits, at.first + i) ? 1 : 0;
	return count;
}

/* The batch step and other special steps have no cores of their own. */
static bool has_cores(const step_record_t *step, bitoff_t size)
{
	return step->step_id.step_id != SLURM_BATCH_SCRIPT &&
	       step->step_id.step_id != SLURM_EXTERN_CONT &&
	       step->step_id.step_id != SLURM_INTERACTIVE_STEP &&
	       step->core_bitmap_job && bit_size(step->core_bitmap_job) == size;
}

/* The cores of the job that no step uses.  The job's own bitmap does not count
 * a step that overlaps another.
 */
static bitstr_t *find_idle_cores(const job_record_t *job)
{
	bitstr_t *idle = bit_copy(job->job_resrcs->core_bitmap);
	egs_list_iter steps;
	step_record_t *step;

	if (job->job_resrcs->core_bitmap_used)
		bit_and_not(idle, job->job_resrcs->core_bitmap_used);
	if (!job->step_list)
		return idle;
	steps = list_iterator_create(job->step_list);
	while ((step = list_next(steps)))
		if (has_cores(step, bit_size(idle)))
			bit_and_not(idle, step->core_bitmap_job);
	list_iterator_destroy(steps);
	return idle;
}

/* The cores near the GPUs 'gone' by gres.conf; NULL: unknown. */
static bitstr_t *find_near_cores(const struct egs_resize_records *r, uint32_t n,
				 bitstr_t *gone)
{
	gres_state_t *gres =
		list_find_first(egs_resize_records_node(r, n)->gres_list,
				gres_find_id, &r->requested->plugin_id);
	const gres_node_state_t *state = gres ? gres->gres_data : NULL;
	bitstr_t *near = NULL;

	for (uint16_t i = 0; state && i < state->topo_cnt; i++) {
		if (!state->topo_core_bitmap || !state->topo_core_bitmap[i] ||
		    bit_size(state->topo_gres_bitmap[i]) != bit_size(gone) ||
		    !bit_overlap_any(state->topo_gres_bitmap[i], gone))
			continue;
		if (!near)
			near = bit_copy(state->topo_core_bitmap[i]);
		else
			bit_or(near, state->topo_core_bitmap[i]);
	}
	return near;
}

/* Move up to 'count' cores from 'idle' to 'cores', the last ones first; with
 * 'near' only cores that are in it.
 */
static uint32_t pick_cores(bitstr_t *cores, bitstr_t *idle,
			   struct core_range at, bitstr_t *near, uint32_t count)
{
	uint32_t picked = 0;

	if (near && bit_size(near) != at.count)
		return 0;
	for (bitoff_t i = at.count - 1; i >= 0 && picked < count; i--) {
		if (!bit_test(idle, at.first + i) ||
		    (near && !bit_test(near, i)))
			continue;
		bit_clear(idle, at.first + i);
		bit_set(cores, at.first + i);
		picked++;
	}
	return picked;
}

/* amount * part / whole, rounded up. */
static uint64_t scale_round_up(uint64_t amount, uint64_t part, uint64_t whole)
{
	return (amount * part + whole - 1) / whole;
}

static uint64_t get_releasable_mem(const job_record_t *job, uint32_t n,
				   uint64_t stays)
{
	const struct job_resources *res = job->job_resrcs;

	if (res->memory_used && stays < res->memory_used[n])
		stays = res->memory_used[n];
	return stays < res->memory_allocated[n]
		       ? res->memory_allocated[n] - stays
		       : 0;
}

void egs_resize_cores_add(struct egs_resize_cores *share,
			  const struct egs_resize_records *r, uint32_t n,
			  uint32_t keep, uint32_t held, bitstr_t *gone,
			  uint64_t used_mb)
{
	const struct job_resources *res = r->job->job_resrcs;
	struct core_range at = get_core_range(r->job, n);
	uint32_t cores = count_cores(res->core_bitmap, at);
	uint64_t stays = scale_round_up(cores, keep, held);
	bool per_cpu = r->job->details->pn_min_memory & MEM_PER_CPU;
	bitstr_t *idle = find_idle_cores(r->job);
	bitstr_t *near = find_near_cores(r, n, gone);
	uint32_t spare = cores && res->cpus[n] % cores == 0
				 ? cores - (uint32_t)(stays ? stays : 1)
				 : 0;
	uint32_t got =
		pick_cores(share->cores, idle, at, near, near ? spare : 0);

	got += pick_cores(share->cores, idle, at, NULL, spare - got);
	if (got && cores)
		share->cpus[n] = (uint16_t)(res->cpus[n] / cores * got);
	stays = per_cpu ? scale_round_up(res->memory_allocated[n],
					 res->cpus[n] - share->cpus[n],
					 res->cpus[n])
			: scale_round_up(res->memory_allocated[n], keep, held);
	share->mem_mb[n] = get_releasable_mem(
		r->job, n, stays > used_mb ? stays : used_mb);
	bit_free(idle);
	FREE_NULL_BITMAP(near);
}

static int match_extern_step(void *item, void *arg)
{
	const step_record_t *step = item;

	(void)arg;
	return step->step_id.step_id == SLURM_EXTERN_CONT;
}

/* Slurm's conditions (26.05 job_mgr.c:12486).  A request for each CPU would
 * become one for each node, and a task of an array would count as ended.
 */
static bool can_lower_mem(const job_record_t *job)
{
	return EGS_CAN_LOWER_MEM(job) && job->array_task_id == NO_VAL &&
	       job->details->pn_min_memory &&
	       !(job->details->pn_min_memory & MEM_PER_CPU) && job->step_list &&
	       list_find_first(job->step_list, match_extern_step, NULL);
}

void egs_resize_cores_find_limit(struct egs_resize_cores *share,
				 const job_record_t *job)
{
	const struct job_resources *res = job->job_resrcs;
	uint64_t most = 0;

	for (uint32_t n = 0; n < res->nhosts; n++)
		if (res->memory_allocated[n] - share->mem_mb[n] > most)
			most = res->memory_allocated[n] - share->mem_mb[n];
	if (can_lower_mem(job) && most < job->details->pn_min_memory)
		share->limit_mb = most;
}

/* Update the sums after the CPUs of nodes have changed. */
static void recount_cpus(job_record_t *job)
{
	struct job_resources *res = job->job_resrcs;

	res->ncpus = (uint32_t)build_job_resources_cpu_array(res);
	job->total_cpus = res->ncpus;
	job->cpu_cnt = res->ncpus;
}

/* cons_tres releases memory only when a job ends.  So end a job record that has
 * only this memory.  The record has no GPUs, and no cores, because cons_tres
 * does not know its resources.  select/egs ignores job id 0.
 */
static void release_mem(const job_record_t *job, uint64_t *mem_mb)
{
	struct job_resources part = *job->job_resrcs;
	job_record_t ended = *job;

	part.memory_allocated = mem_mb;
	ended.job_resrcs = &part;
	ended.gres_list_alloc = NULL;
	ended.gres_list_req = NULL;
	ended.job_id = 0;
	select_g_job_fini(&ended);
	for (uint32_t n = 0; n < part.nhosts; n++)
		job->job_resrcs->memory_allocated[n] -= mem_mb[n];
}

void egs_resize_cores_release(struct egs_resize_cores *share, job_record_t *job)
{
	struct job_resources *res = job->job_resrcs;

	select_g_job_suspend(job, true);
	bit_and_not(res->core_bitmap, share->cores);
	for (uint32_t n = 0; n < res->nhosts; n++)
		res->cpus[n] -= share->cpus[n];
	recount_cpus(job);
	select_g_job_resume(job, true);
	if (!share->limit_mb)
		release_mem(job, share->mem_mb);
}

/* A step without --exact has all CPUs of its job, and gives back those that the
 * job has when the step ends (22.05 step_mgr.c:2631).  If its CPUs can be
 * written as a number for each task, it gives back what it has now.
 */
static void fix_whole_step(const job_record_t *job, step_record_t *step)
{
	const struct job_resources *res = job->job_resrcs;
	bitoff_t last = bit_fls(res->node_bitmap);
	uint32_t n = 0, k = 0, each = 0, tasks;

	for (bitoff_t i = bit_ffs(res->node_bitmap); i >= 0 && i <= last; i++) {
		if (!bit_test(res->node_bitmap, i))
			continue;
		if (bit_test(step->step_node_bitmap, i)) {
			tasks = step->step_layout->tasks[k++];
			if (!tasks || res->cpus[n] % tasks ||
			    (each && each != res->cpus[n] / tasks))
				return;
			each = res->cpus[n] / tasks;
		}
		n++;
	}
	if (!each)
		return;
	step->cpus_per_task = (uint16_t)each;
	step->flags &= ~(uint32_t)SSF_WHOLE;
}

static void fix_whole_steps(const job_record_t *job)
{
	egs_list_iter steps;
	step_record_t *step;

	if (!job->step_list)
		return;
	steps = list_iterator_create(job->step_list);
	while ((step = list_next(steps)))
		if (step->flags & SSF_WHOLE && step->step_layout &&
		    step->step_node_bitmap)
			fix_whole_step(job, step);
	list_iterator_destroy(steps);
}

/* The helper job keeps one CPU on no core.  Without it cons_tres would regard
 * the node as lost and never remove the job (24.11 job_resources.c:578).
 */
static void move_node_cores(job_record_t *to, uint32_t n, job_record_t *from,
			    uint32_t m)
{
	struct job_resources *dst = to->job_resrcs;
	struct job_resources *src = from->job_resrcs;
	struct core_range here = get_core_range(to, n),
			  there = get_core_range(from, m);

	for (bitoff_t i = 0; i < there.count && i < here.count; i++) {
		if (!bit_test(src->core_bitmap, there.first + i))
			continue;
		bit_clear(src->core_bitmap, there.first + i);
		bit_set(dst->core_bitmap, here.first + i);
	}
	dst->cpus[n] += src->cpus[m];
	src->cpus[m] = 1;
	dst->memory_allocated[n] += src->memory_allocated[m];
	src->memory_allocated[m] = 0;
}

/* A step cannot request more memory than its job requested (22.05
 * step_mgr.c:1134), so raise the job's request to its memory.  Also raise the
 * original request: each update restores that (22.05 job_limits_check()).
 */
static void raise_mem_request(job_record_t *job)
{
	uint64_t *requested = &job->details->pn_min_memory;
	const struct job_resources *res = job->job_resrcs;

	if (!*requested || *requested & MEM_PER_CPU)
		return;
	for (uint32_t n = 0; n < res->nhosts; n++)
		if (res->memory_allocated[n] > *requested)
			*requested = res->memory_allocated[n];
	job->details->orig_pn_min_memory = *requested;
}

void egs_resize_cores_move(job_record_t *to, job_record_t *from,
			   const uint32_t *at)
{
	fix_whole_steps(to);
	select_g_job_suspend(from, true);
	select_g_job_suspend(to, true);
	for (uint32_t m = 0; m < from->job_resrcs->nhosts; m++)
		move_node_cores(to, at[m], from, m);
	raise_mem_request(to);
	recount_cpus(to);
	recount_cpus(from);
	select_g_job_resume(to, true);
	select_g_job_resume(from, true);
}
