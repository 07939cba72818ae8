/* resize_records.c - the GPUs of a running job as slurmctld's records have them
 */
#include "plugins/job_submit/resize_records.h"

static gres_job_state_t *state_of(const gres_state_t *gres)
{
	return gres->gres_data;
}

static bool is_gpu(const gres_state_t *gres)
{
	return !xstrcmp(gres->gres_name, "gpu");
}

/* Why the GPUs of 'gres' cannot change hands one by one, or NULL. */
static const char *unfit(const gres_state_t *gres, uint32_t nodes)
{
	const gres_job_state_t *state = state_of(gres);

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

static int refuse(const job_record_t *job, const char *why, struct egs_err *err)
{
	return egs_errf(err, "job %u %s, that cannot be resized while it runs",
			job->job_id, why);
}

/* What it got, one record for each type. */
static const char *find_got(struct egs_records *r)
{
	egs_list_iter iter = list_iterator_create(r->job->gres_list_alloc);
	const char *why = NULL;
	gres_state_t *gres;

	while (!why && (gres = list_next(iter))) {
		why = unfit(gres, r->nodes);
		if (why || !is_gpu(gres))
			continue;
		if (r->ngot == EGS_RECORDS_MAX)
			why = "has too many types of GPUs";
		else
			r->got[r->ngot++] = gres;
	}
	list_iterator_destroy(iter);
	return why;
}

static const char *find_asked(struct egs_records *r)
{
	const gres_job_state_t *state;
	struct egs_size size;

	r->asked = egs_asked_find(r->job);
	if (!r->asked)
		return "asks for several types of GPUs, or for none";
	state = state_of(r->asked);
	size = egs_asked_size(r->asked);
	if (state->gres_per_task || state->gres_per_socket ||
	    (state->ntasks_per_gres && state->ntasks_per_gres != NO_VAL16) ||
	    (!size.per_node && !size.per_job))
		return "asks for GPUs neither per node nor per job";
	return unfit(r->asked, r->nodes);
}

int egs_records_find(struct egs_records *r, job_record_t *job,
		     struct egs_err *err)
{
	struct egs_records new = { .job = job,
				   .nodes = job->job_resrcs->nhosts };
	const char *why =
		job->gres_list_alloc ? find_asked(&new) : "has no GPUs";

	if (!why)
		why = find_got(&new);
	if (why)
		return refuse(job, why, err);
	*r = new;
	return 0;
}

int egs_records_are(const struct egs_records *r, const char *type,
		    struct egs_err *err)
{
	for (uint32_t i = 0; i < r->ngot; i++) {
		const gres_job_state_t *got = state_of(r->got[i]);

		if (got->total_gres && xstrcmp(got->type_name, type))
			return egs_errf(err,
					"job %u has GPUs of type '%s', "
					"not '%s'",
					r->job->job_id,
					got->type_name ? got->type_name : "",
					egs_show(type).text);
	}
	return 0;
}

node_record_t *egs_records_node(const struct egs_records *r, uint32_t n)
{
	bitstr_t *nodes = r->job->job_resrcs->node_bitmap;
	bitoff_t last = bit_fls(nodes);

	for (bitoff_t i = bit_ffs(nodes); i >= 0 && i <= last; i++)
		if (bit_test(nodes, i) && n-- == 0)
			return node_record_table_ptr[i];
	return NULL;
}

static bitstr_t *bits(const gres_state_t *gres, uint32_t n)
{
	return state_of(gres)->gres_bit_alloc[n];
}

bitstr_t *egs_records_held(const struct egs_records *r, uint32_t n)
{
	bitstr_t *asked = bits(r->asked, n);
	bitstr_t *held = bit_alloc(asked ? bit_size(asked) : 1);

	for (uint32_t i = 0; i < r->ngot; i++)
		if (bits(r->got[i], n) &&
		    bit_size(bits(r->got[i], n)) == bit_size(held))
			bit_or(held, bits(r->got[i], n));
	return held;
}

static void add_step(bitstr_t *used, const gres_state_t *gres, uint32_t n)
{
	const gres_step_state_t *step = gres->gres_data;

	if (is_gpu(gres) && step->gres_bit_alloc && n < step->node_cnt &&
	    step->gres_bit_alloc[n] &&
	    bit_size(step->gres_bit_alloc[n]) == bit_size(used))
		bit_or(used, step->gres_bit_alloc[n]);
}

static void add_steps(bitstr_t *used, const job_record_t *job, uint32_t n)
{
	egs_list_iter steps = list_iterator_create(job->step_list), iter;
	gres_state_t *gres;
	step_record_t *step;

	while ((step = list_next(steps))) {
		if (!step->gres_list_alloc)
			continue;
		iter = list_iterator_create(step->gres_list_alloc);
		while ((gres = list_next(iter)))
			add_step(used, gres, n);
		list_iterator_destroy(iter);
	}
	list_iterator_destroy(steps);
}

/* A step that overlaps another is not counted in the job's own record. */
bitstr_t *egs_records_in_steps(const struct egs_records *r, uint32_t n)
{
	bitstr_t *asked = bits(r->asked, n);
	bitstr_t *used = bit_alloc(asked ? bit_size(asked) : 1);

	for (uint32_t i = 0; i < r->ngot; i++) {
		const gres_job_state_t *got = state_of(r->got[i]);

		if (got->gres_bit_step_alloc && got->gres_bit_step_alloc[n] &&
		    bit_size(got->gres_bit_step_alloc[n]) == bit_size(used))
			bit_or(used, got->gres_bit_step_alloc[n]);
	}
	if (r->job->step_list)
		add_steps(used, r->job, n);
	return used;
}

/* Take out what it has of 'gpus'; how many that were. */
static uint64_t take_out(gres_state_t *gres, uint32_t n, bitstr_t *gpus)
{
	gres_job_state_t *state = state_of(gres);
	uint64_t count;

	if (!state->gres_bit_alloc[n])
		return 0;
	count = bit_overlap(state->gres_bit_alloc[n], gpus);
	bit_and_not(state->gres_bit_alloc[n], gpus);
	state->gres_cnt_node_alloc[n] -= count;
	state->total_gres -= count;
	return count;
}

static void put_in(gres_state_t *gres, uint32_t n, bitstr_t *gpus)
{
	gres_job_state_t *state = state_of(gres);
	uint64_t count = bit_set_count(gpus);

	if (!state->gres_bit_alloc[n])
		state->gres_bit_alloc[n] = bit_alloc(bit_size(gpus));
	bit_or(state->gres_bit_alloc[n], gpus);
	state->gres_cnt_node_alloc[n] += count;
	state->total_gres += count;
}

/* The node hears of these GPUs as if they were a whole job's: a record of
 * their bits alone, with a count of its own (24.11 gres_stepmgr.c:1290
 * subtracts the count and not the bits).
 */
static void tell_node(const struct egs_records *r, const gres_state_t *got,
		      uint32_t n, bitstr_t *gpus)
{
	node_record_t *node = egs_records_node(r, n);
	bitstr_t **bit = xcalloc(r->nodes, sizeof(*bit));
	uint64_t *count = xcalloc(r->nodes, sizeof(*count));
	gres_job_state_t part = *state_of(got);
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

void egs_records_release(struct egs_records *r, uint32_t n, bitstr_t *gpus)
{
	for (uint32_t i = 0; i < r->ngot; i++) {
		bitstr_t *part;

		if (!bits(r->got[i], n))
			continue;
		part = bit_copy(bits(r->got[i], n));
		bit_and(part, gpus);
		if (take_out(r->got[i], n, part))
			tell_node(r, r->got[i], n, part);
		bit_free(part);
	}
	take_out(r->asked, n, gpus);
}

static gres_state_t *same_type(const struct egs_records *to,
			       const gres_state_t *got)
{
	for (uint32_t i = 0; i < to->ngot; i++)
		if (to->got[i]->plugin_id == got->plugin_id &&
		    state_of(to->got[i])->type_id == state_of(got)->type_id)
			return to->got[i];
	return NULL;
}

int egs_records_match(const struct egs_records *to,
		      const struct egs_records *from, struct egs_err *err)
{
	for (uint32_t i = 0; i < from->ngot; i++) {
		const gres_job_state_t *got = state_of(from->got[i]);

		if (got->total_gres && !same_type(to, from->got[i]))
			return egs_errf(err, "job %u has no GPUs of type %s",
					to->job->job_id,
					got->type_name ? got->type_name : "");
	}
	return 0;
}

void egs_records_move(struct egs_records *to, uint32_t n,
		      struct egs_records *from, uint32_t m)
{
	for (uint32_t i = 0; i < from->ngot; i++) {
		bitstr_t *moved;

		if (!bits(from->got[i], m))
			continue;
		moved = bit_copy(bits(from->got[i], m));
		if (take_out(from->got[i], m, moved)) {
			take_out(from->asked, m, moved);
			put_in(same_type(to, from->got[i]), n, moved);
			put_in(to->asked, n, moved);
		}
		bit_free(moved);
	}
}
