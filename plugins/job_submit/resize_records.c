/* resize_records.c - GPUs of a running job in slurmctld's records */
#include "plugins/job_submit/resize_records.h"
#include "plugins/job_submit/resize_checks.h"

static gres_job_state_t *get_job_gres(const gres_state_t *gres)
{
	return gres->gres_data;
}

static bool is_gpu(const gres_state_t *gres)
{
	return !xstrcmp(gres->gres_name, "gpu");
}

/* Why single GPUs of 'gres' cannot be released, or NULL. */
static const char *find_gres_problem(const gres_state_t *gres, uint32_t nodes)
{
	const gres_job_state_t *state = get_job_gres(gres);

	if (!is_gpu(gres))
		return gres_id_shared(gres->config_flags) ? "shares GPUs"
							  : NULL;
	if (gres_id_shared(gres->config_flags))
		return "shares GPUs";
	if (!state->gres_bit_alloc || !state->gres_cnt_node_alloc)
		return "has GPUs without device files";
	if (state->node_cnt != nodes)
		return "has lost or gained nodes";
	return NULL;
}

/* Find the allocated GPUs, one record for each type. */
static const char *find_allocated(struct egs_resize_records *r)
{
	egs_list_iter iter = list_iterator_create(r->job->gres_list_alloc);
	const char *why = NULL;
	gres_state_t *gres;

	while (!why && (gres = list_next(iter))) {
		why = find_gres_problem(gres, r->nnodes);
		if (why || !is_gpu(gres))
			continue;
		if (r->nallocated == EGS_RESIZE_TYPES_MAX)
			why = "has too many types of GPUs";
		else
			r->allocated[r->nallocated++] = gres;
	}
	list_iterator_destroy(iter);
	return why;
}

static const char *find_requested(struct egs_resize_records *r)
{
	const gres_job_state_t *state;
	struct egs_job_size size;

	r->requested = egs_gpu_request_find(r->job);
	if (!r->requested)
		return "requests several types of GPUs, or none";
	state = get_job_gres(r->requested);
	size = egs_gpu_request_size(r->requested);
	if (state->gres_per_task || state->gres_per_socket ||
	    (state->ntasks_per_gres && state->ntasks_per_gres != NO_VAL16) ||
	    (!size.gpus_per_node && !size.gpus_per_job))
		return "requests GPUs neither per node nor per job";
	return find_gres_problem(r->requested, r->nnodes);
}

int egs_resize_records_find(struct egs_resize_records *r, job_record_t *job,
			    struct egs_err *err)
{
	struct egs_resize_records new = { .job = job,
					  .nnodes = job->job_resrcs->nhosts };
	const char *why =
		job->gres_list_alloc ? find_requested(&new) : "has no GPUs";

	if (!why)
		why = find_allocated(&new);
	if (why)
		return egs_resize_check_refuse(job, why, err);
	*r = new;
	return 0;
}

int egs_resize_records_check_type(const struct egs_resize_records *r,
				  const char *type, struct egs_err *err)
{
	for (uint32_t i = 0; i < r->nallocated; i++) {
		const gres_job_state_t *got = get_job_gres(r->allocated[i]);

		if (got->total_gres && xstrcmp(got->type_name, type))
			return egs_errf(err,
					"job %u has GPUs of type '%s', "
					"not '%s'",
					r->job->job_id,
					got->type_name ? got->type_name : "",
					egs_printable(type).text);
	}
	return 0;
}

node_record_t *egs_resize_records_node(const struct egs_resize_records *r,
				       uint32_t n)
{
	bitstr_t *nodes = r->job->job_resrcs->node_bitmap;
	bitoff_t last = bit_fls(nodes);

	for (bitoff_t i = bit_ffs(nodes); i >= 0 && i <= last; i++)
		if (bit_test(nodes, i) && n-- == 0)
			return node_record_table_ptr[i];
	return NULL;
}

static bitstr_t *get_gpu_bits(const gres_state_t *gres, uint32_t n)
{
	return get_job_gres(gres)->gres_bit_alloc[n];
}

bitstr_t *egs_resize_records_held(const struct egs_resize_records *r,
				  uint32_t n)
{
	bitstr_t *asked = get_gpu_bits(r->requested, n);
	bitstr_t *held = bit_alloc(asked ? bit_size(asked) : 1);

	for (uint32_t i = 0; i < r->nallocated; i++)
		if (get_gpu_bits(r->allocated[i], n) &&
		    bit_size(get_gpu_bits(r->allocated[i], n)) ==
			    bit_size(held))
			bit_or(held, get_gpu_bits(r->allocated[i], n));
	return held;
}

static void add_step_gres(bitstr_t *used, const gres_state_t *gres, uint32_t n)
{
	const gres_step_state_t *step = gres->gres_data;

	if (is_gpu(gres) && step->gres_bit_alloc && n < step->node_cnt &&
	    step->gres_bit_alloc[n] &&
	    bit_size(step->gres_bit_alloc[n]) == bit_size(used))
		bit_or(used, step->gres_bit_alloc[n]);
}

static void add_all_steps(bitstr_t *used, const job_record_t *job, uint32_t n)
{
	egs_list_iter steps = list_iterator_create(job->step_list), iter;
	gres_state_t *gres;
	step_record_t *step;

	while ((step = list_next(steps))) {
		if (!step->gres_list_alloc)
			continue;
		iter = list_iterator_create(step->gres_list_alloc);
		while ((gres = list_next(iter)))
			add_step_gres(used, gres, n);
		list_iterator_destroy(iter);
	}
	list_iterator_destroy(steps);
}

/* The job's own record does not count a step that overlaps another. */
bitstr_t *egs_resize_records_in_steps(const struct egs_resize_records *r,
				      uint32_t n)
{
	bitstr_t *asked = get_gpu_bits(r->requested, n);
	bitstr_t *used = bit_alloc(asked ? bit_size(asked) : 1);

	for (uint32_t i = 0; i < r->nallocated; i++) {
		const gres_job_state_t *got = get_job_gres(r->allocated[i]);

		if (got->gres_bit_step_alloc && got->gres_bit_step_alloc[n] &&
		    bit_size(got->gres_bit_step_alloc[n]) == bit_size(used))
			bit_or(used, got->gres_bit_step_alloc[n]);
	}
	if (r->job->step_list)
		add_all_steps(used, r->job, n);
	return used;
}

/* Remove 'gpus' from the record; returns how many it had. */
static uint64_t remove_gpus(gres_state_t *gres, uint32_t n, bitstr_t *gpus)
{
	gres_job_state_t *state = get_job_gres(gres);
	uint64_t count;

	if (!state->gres_bit_alloc[n])
		return 0;
	count = bit_overlap(state->gres_bit_alloc[n], gpus);
	bit_and_not(state->gres_bit_alloc[n], gpus);
	state->gres_cnt_node_alloc[n] -= count;
	state->total_gres -= count;
	return count;
}

static void add_gpus(gres_state_t *gres, uint32_t n, bitstr_t *gpus)
{
	gres_job_state_t *state = get_job_gres(gres);
	uint64_t count = bit_set_count(gpus);

	if (!state->gres_bit_alloc[n])
		state->gres_bit_alloc[n] = bit_alloc(bit_size(gpus));
	bit_or(state->gres_bit_alloc[n], gpus);
	state->gres_cnt_node_alloc[n] += count;
	state->total_gres += count;
}

/* Release these GPUs on the node as if they were a whole job: with a record of
 * these bits alone, and their own count (24.11 gres_stepmgr.c:1290 subtracts
 * the count and not the bits).
 */
static void dealloc_on_node(const struct egs_resize_records *r,
			    const gres_state_t *got, uint32_t n, bitstr_t *gpus)
{
	node_record_t *node = egs_resize_records_node(r, n);
	bitstr_t **bit = xcalloc(r->nnodes, sizeof(*bit));
	uint64_t *count = xcalloc(r->nnodes, sizeof(*count));
	gres_job_state_t part = *get_job_gres(got);
	gres_state_t gres = *got;
	egs_list list = list_create(NULL);

	bit[n] = gpus;
	count[n] = bit_set_count(gpus);
	part.gres_bit_alloc = bit;
	part.gres_cnt_node_alloc = count;
	gres.gres_data = &part;
	list_append(list, &gres);
	egs_job_dealloc(list, node->gres_list, (int)n, r->job->job_id,
			node->name, false, false);
	list_destroy(list);
	xfree(bit);
	xfree(count);
}

void egs_resize_records_release(struct egs_resize_records *r, uint32_t n,
				bitstr_t *gpus)
{
	for (uint32_t i = 0; i < r->nallocated; i++) {
		bitstr_t *part;

		if (!get_gpu_bits(r->allocated[i], n))
			continue;
		part = bit_copy(get_gpu_bits(r->allocated[i], n));
		bit_and(part, gpus);
		if (remove_gpus(r->allocated[i], n, part))
			dealloc_on_node(r, r->allocated[i], n, part);
		bit_free(part);
	}
	remove_gpus(r->requested, n, gpus);
}

static gres_state_t *find_same_type(const struct egs_resize_records *to,
				    const gres_state_t *got)
{
	for (uint32_t i = 0; i < to->nallocated; i++)
		if (to->allocated[i]->plugin_id == got->plugin_id &&
		    get_job_gres(to->allocated[i])->type_id ==
			    get_job_gres(got)->type_id)
			return to->allocated[i];
	return NULL;
}

int egs_resize_records_match(const struct egs_resize_records *to,
			     const struct egs_resize_records *from,
			     struct egs_err *err)
{
	for (uint32_t i = 0; i < from->nallocated; i++) {
		const gres_job_state_t *got = get_job_gres(from->allocated[i]);

		if (got->total_gres && !find_same_type(to, from->allocated[i]))
			return egs_errf(err, "job %u has no GPUs of type %s",
					to->job->job_id,
					got->type_name ? got->type_name : "");
	}
	return 0;
}

void egs_resize_records_move(struct egs_resize_records *to, uint32_t n,
			     struct egs_resize_records *from, uint32_t m)
{
	for (uint32_t i = 0; i < from->nallocated; i++) {
		bitstr_t *moved;

		if (!get_gpu_bits(from->allocated[i], m))
			continue;
		moved = bit_copy(get_gpu_bits(from->allocated[i], m));
		if (remove_gpus(from->allocated[i], m, moved)) {
			remove_gpus(from->requested, m, moved);
			add_gpus(find_same_type(to, from->allocated[i]), n,
				 moved);
			add_gpus(to->requested, n, moved);
		}
		bit_free(moved);
	}
}
