/* gpu_sums.c - sums of samples for each attempt and GPU, to the store
 *
 * Sums grow in memory: those of the attempt that are not on disk yet, and those
 * of the current cell of five minutes.  They are written in small steps, so
 * that thousands of GPUs do not stop the daemon: each node in its turn, and
 * first what has ended, a cell or the use of a GPU by a job.  A daemon that is
 * killed loses at most the current cell; one that stops in order loses nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"
#include "policyd/requests/gpu_samples.h"

enum {
	STEP_S = 5,	 /* between two steps */
	STEP_ROWS = 200, /* of a step, and as many of what has ended */
	/* With more GPUs a step is larger: each has its turn within a cell. */
	STEPS_OF_CELL = EGS_GPU_CELL_S / STEP_S,
	NODE_WRITE_S = 30, /* a node has its turn at most so often */
	PRUNE_STEPS = 12,
	PRUNE_ROWS = 2000, /* or as many as there are GPUs */
	/* More does not end while the disk works; if it does not, the rest is
	 * lost.
	 */
	ENDED_MAX = 65536,
	/* A GPU that is busy by utilisation with so little power, and of which
	 * so few SMs are active, does next to nothing.
	 */
	BUSY_PERCENT = 50,
	LOW_POWER_PERCENT = 20,
	LOW_SM_PERCENT = 10,
};

enum sums_kind {
	SUMS_OF_USE,	   /* of a GPU that a job does not have any more */
	SUMS_OF_CELL,	   /* that is over */
	SUMS_OF_PROCESSES, /* of an attempt that may have no other sums */
};

struct ended_sums {
	uint32_t node;
	enum sums_kind kind;
	struct egs_gpu_use use;
};

struct egs_gpu_sums {
	struct ended_sums *ended; /* the oldest first */
	uint32_t n, room;
	uint32_t next_node; /* whose turn it is */
	uint32_t steps;
	egs_time_t step_at;
};

/* What one step writes. */
struct write_step {
	egs_time_t now;
	bool all;	     /* without limits */
	uint32_t rows;	     /* of each kind, at most */
	uint32_t ended;	     /* written, of the list */
	uint32_t first, end; /* nodes whose turn it was */
};

static int init_sums(struct egs_daemon *d, struct egs_err *err)
{
	d->requests->gpu_sums = calloc(1, sizeof(struct egs_gpu_sums));
	return d->requests->gpu_sums ? 0 : egs_errf(err, "out of memory");
}

static void free_sums(struct egs_daemon *d)
{
	struct egs_gpu_sums *sums = d->requests ? d->requests->gpu_sums : NULL;

	if (sums)
		free(sums->ended);
	free(sums);
}

/* ---- add ---- */

void egs_gpu_sums_begin(struct egs_gpu_record *record, const struct egs_job *j)
{
	record->use = (struct egs_gpu_use){ .gpu = record->sample.gpu };
	record->cell = (struct egs_gpu_amounts){ .sampled_s = 0 };
	if (!j)
		return;
	record->use.job_id = j->ident.job_id;
	record->use.restarts = j->ident.restarts;
	record->use.start = j->started;
}

static void append_ended(struct egs_daemon *d, uint32_t node,
			 const struct egs_gpu_use *use, enum sums_kind kind)
{
	struct egs_gpu_sums *sums = d->requests->gpu_sums;

	if (!use->sum.sampled_s || sums->n >= ENDED_MAX ||
	    egs_grow(&sums->ended, &sums->room, sums->n + 1) < 0)
		return;
	sums->ended[sums->n++] = (struct ended_sums){
		.node = node,
		.kind = kind,
		.use = *use,
	};
}

static void end_cell(struct egs_daemon *d, uint32_t node,
		     const struct egs_gpu_record *record)
{
	struct egs_gpu_use cell = record->use;

	cell.at = record->cell_at;
	cell.sum = record->cell;
	if (egs_daemon_conf(d)->cell_retention_s)
		append_ended(d, node, &cell, SUMS_OF_CELL);
}

void egs_gpu_sums_end(struct egs_daemon *d, uint32_t node,
		      const struct egs_gpu_record *record)
{
	append_ended(d, node, &record->use, SUMS_OF_USE);
	end_cell(d, node, record);
}

/* Energy since the last sample; the counter may have begun again. */
static int64_t get_energy_step(const struct egs_gpu_record *record,
			       int64_t before_j)
{
	int64_t now_j = record->sample.value[EGS_GPU_ENERGY_J].value;

	return now_j >= before_j ? now_j - before_j : now_j;
}

/* Is a kernel on the GPU that hardly computes?  The utilisation of the driver
 * tells that some kernel runs, and power tells more.
 */
static bool is_hollow(const struct egs_gpu_sample *sample)
{
	const struct egs_gpu_value *value = sample->value;

	return egs_gpu_sample_has(sample, EGS_GPU_UTIL) &&
	       egs_gpu_sample_has(sample, EGS_GPU_POWER_LIMIT_MW) &&
	       value[EGS_GPU_UTIL].value >= BUSY_PERCENT &&
	       value[EGS_GPU_POWER_MW].value * 100 <
		       value[EGS_GPU_POWER_LIMIT_MW].value *
			       LOW_POWER_PERCENT &&
	       (value[EGS_GPU_SM].source != EGS_GPU_SOURCE_GPM ||
		value[EGS_GPU_SM].value < LOW_SM_PERCENT);
}

static void weigh_power(const struct egs_gpu_sample *sample, int64_t seconds,
			struct egs_gpu_amounts *sum)
{
	const struct egs_gpu_value *value = sample->value;

	if (!egs_gpu_sample_has(sample, EGS_GPU_POWER_MW))
		return;
	sum->power_s = seconds;
	sum->max_power_w = (value[EGS_GPU_POWER_MW].value + 500) / 1000;
	sum->power_ws = seconds * sum->max_power_w;
	sum->power_limit_w = (value[EGS_GPU_POWER_LIMIT_MW].value + 500) / 1000;
	if (is_hollow(sample)) {
		sum->low_power_s = seconds;
		sum->low_power_ws = sum->power_ws;
	}
}

/* What a sample that stands for 'seconds' adds. */
static struct egs_gpu_amounts weigh_sample(const struct egs_gpu_sample *sample,
					   int64_t seconds)
{
	const struct egs_gpu_value *value = sample->value;
	struct egs_gpu_amounts sum = { .sampled_s = seconds };

	if (egs_gpu_sample_has(sample, EGS_GPU_SM)) {
		sum.sm_s = seconds;
		sum.max_sm = value[EGS_GPU_SM].value;
		sum.sm_percent_s = seconds * sum.max_sm;
		sum.idle_s = sum.max_sm ? 0 : seconds;
	}
	if (egs_gpu_sample_has(sample, EGS_GPU_MEM_MB)) {
		sum.mem_s = seconds;
		sum.max_mem_mb = value[EGS_GPU_MEM_MB].value;
		sum.mem_mb_s = seconds * sum.max_mem_mb;
		sum.mem_total_mb = value[EGS_GPU_MEM_TOTAL_MB].value;
	}
	weigh_power(sample, seconds, &sum);
	if (egs_gpu_sample_has(sample, EGS_GPU_PROCESSES)) {
		sum.process_s = seconds;
		sum.empty_s = value[EGS_GPU_PROCESSES].value || sum.max_sm
				      ? 0
				      : seconds;
	}
	return sum;
}

/* A sample is of the cell in which its time begins. */
void egs_gpu_sums_add(struct egs_daemon *d, uint32_t node,
		      struct egs_gpu_record *record, int64_t energy_before_j,
		      egs_time_t at, int64_t seconds)
{
	struct egs_gpu_amounts more = weigh_sample(&record->sample, seconds);

	if (!record->use.job_id || seconds <= 0)
		return;
	if (egs_gpu_sample_has(&record->sample, EGS_GPU_ENERGY_J)) {
		more.energy_s = seconds;
		more.energy_j = get_energy_step(record, energy_before_j);
	}
	if (egs_gpu_cell_id(at - seconds) != egs_gpu_cell_id(record->cell_at)) {
		end_cell(d, node, record);
		record->cell = (struct egs_gpu_amounts){ .sampled_s = 0 };
		record->cell_at = at - seconds;
	}
	record->use.at = at;
	egs_gpu_amounts_add(&record->use.sum, &more);
	egs_gpu_amounts_add(&record->cell, &more);
}

/* ---- processes that have ended ---- */

/* Only the most memory is known, which stands for all of the time. */
static struct egs_gpu_amounts weigh_process(const struct egs_gpu_process *p)
{
	int64_t seconds = p->run_ms < 1500 ? 1 : (p->run_ms + 500) / 1000;
	struct egs_gpu_amounts sum = { .sampled_s = seconds,
				       .process_s = seconds };

	if (p->sm >= 0) {
		sum.sm_s = seconds;
		sum.max_sm = p->sm;
		sum.sm_percent_s = seconds * p->sm;
		sum.idle_s = p->sm ? 0 : seconds;
	}
	if (p->max_mem_mb >= 0) {
		sum.mem_s = seconds;
		sum.max_mem_mb = p->max_mem_mb;
		sum.mem_mb_s = seconds * p->max_mem_mb;
	}
	return sum;
}

static bool is_same_use(const struct egs_gpu_use *a,
			const struct egs_gpu_use *b)
{
	return a->job_id == b->job_id && a->restarts == b->restarts &&
	       a->start == b->start && a->gpu == b->gpu;
}

/* The sums of earlier processes of the attempt that are not on disk. */
static struct ended_sums *find_processes(struct egs_daemon *d, uint32_t node,
					 const struct egs_gpu_use *use)
{
	struct egs_gpu_sums *sums = d->requests->gpu_sums;

	for (uint32_t i = sums->n; i-- > 0;)
		if (sums->ended[i].kind == SUMS_OF_PROCESSES &&
		    sums->ended[i].node == node &&
		    is_same_use(&sums->ended[i].use, use))
			return &sums->ended[i];
	return NULL;
}

/* An attempt that has the GPU now is sampled, but a sample may miss the most
 * memory.
 */
void egs_gpu_sums_add_process(struct egs_daemon *d, uint32_t node,
			      struct egs_gpu_record *record,
			      const struct egs_gpu_process *process)
{
	struct egs_gpu_use use = {
		.job_id = process->job_id,
		.restarts = process->restarts,
		.start = process->start,
		.gpu = process->gpu,
		.at = egs_daemon_now(),
		.sum = weigh_process(process),
	};
	struct ended_sums *earlier;

	if (!use.job_id)
		return;
	if (record && is_same_use(&record->use, &use)) {
		if (process->max_mem_mb > record->use.sum.max_mem_mb)
			record->use.sum.max_mem_mb = process->max_mem_mb;
		return;
	}
	earlier = find_processes(d, node, &use);
	if (earlier)
		egs_gpu_amounts_add(&earlier->use.sum, &use.sum);
	else
		append_ended(d, node, &use, SUMS_OF_PROCESSES);
}

/* ---- write ---- */

static int add_cell(struct egs_store *store, const struct egs_gpu_use *use,
		    const char *type, struct egs_err *err)
{
	(void)type;
	return egs_gpu_cell_add(store, use, err);
}

static int write_row(struct egs_daemon *d, uint32_t node,
		     const struct egs_gpu_use *use, enum sums_kind kind,
		     struct egs_err *err)
{
	typedef int add_fn(struct egs_store *, const struct egs_gpu_use *,
			   const char *type, struct egs_err *);
	static add_fn *const add[] = {
		[SUMS_OF_USE] = egs_gpu_use_add,
		[SUMS_OF_CELL] = add_cell,
		[SUMS_OF_PROCESSES] = egs_gpu_use_add_unsampled,
	};
	const struct egs_node_info *info =
		egs_cluster_get_node(d->cluster, node);
	struct egs_gpu_use row = *use;
	int rc;

	if (!info || !use->sum.sampled_s)
		return 0;
	row.node = info->name;
	rc = add[kind](d->store, &row, info->type, err);
	return egs_daemon_check_store(d, rc, err);
}

static int write_ended(struct egs_daemon *d, struct write_step *step,
		       struct egs_err *err)
{
	const struct egs_gpu_sums *sums = d->requests->gpu_sums;
	uint32_t i = 0;

	for (; i < sums->n && (step->all || i < step->rows); i++)
		if (write_row(d, sums->ended[i].node, &sums->ended[i].use,
			      sums->ended[i].kind, err) < 0)
			return -1;
	step->ended = i;
	return 0;
}

/* The clock may have been set back. */
static bool is_due(const struct write_step *step,
		   const struct egs_node_samples *node)
{
	return step->all || step->now < node->written_at ||
	       step->now - node->written_at >= NODE_WRITE_S;
}

static int write_nodes(struct egs_daemon *d, struct write_step *step,
		       struct egs_err *err)
{
	struct egs_node_samples *node;
	uint32_t i = step->first, rows = 0;

	for (; (step->all || rows < step->rows) &&
	       egs_gpu_samples_next(d, &i, &node);
	     i++) {
		if (!is_due(step, node))
			continue;
		for (uint32_t k = 0; k < node->n; k++, rows++)
			if (write_row(d, i, &node->gpu[k].use, SUMS_OF_USE,
				      err) < 0)
				return -1;
	}
	step->end = i;
	return 0;
}

/* What is on disk is not added again. */
static void clear_written(struct egs_daemon *d, const struct write_step *step)
{
	struct egs_gpu_sums *sums = d->requests->gpu_sums;
	struct egs_node_samples *node;
	uint32_t i = step->first;

	sums->n -= step->ended;
	if (step->ended)
		memmove(sums->ended, sums->ended + step->ended,
			sums->n * sizeof(sums->ended[0]));
	for (; egs_gpu_samples_next(d, &i, &node) && i < step->end; i++) {
		if (!is_due(step, node))
			continue;
		node->written_at = step->now;
		for (uint32_t k = 0; k < node->n; k++)
			node->gpu[k].use.sum =
				(struct egs_gpu_amounts){ .sampled_s = 0 };
	}
	sums->next_node = node ? i : 0;
}

static bool has_unwritten(const struct egs_daemon *d)
{
	bool found = d->requests->gpu_sums->n > 0;
	struct egs_node_samples *node;

	for (uint32_t i = 0; !found && egs_gpu_samples_next(d, &i, &node); i++)
		for (uint32_t k = 0; k < node->n && !found; k++)
			found = node->gpu[k].use.sum.sampled_s > 0;
	return found;
}

/* The GPUs that nodes report, or 'least' if they are fewer. */
static uint32_t count_gpus(const struct egs_daemon *d, uint32_t least)
{
	struct egs_node_samples *node;
	uint32_t gpus = 0;

	for (uint32_t i = 0; egs_gpu_samples_next(d, &i, &node); i++)
		gpus += node->n;
	return gpus > least ? gpus : least;
}

/* If the disk fails, sums grow until it works again. */
static void write_step(struct egs_daemon *d, bool all)
{
	struct write_step step = {
		.now = egs_daemon_now(),
		.all = all,
		.first = all ? 0 : d->requests->gpu_sums->next_node,
	};
	struct egs_err err;

	step.rows = count_gpus(d, STEP_ROWS * STEPS_OF_CELL) / STEPS_OF_CELL;
	if (has_unwritten(d) && egs_daemon_begin(d, &err) == 0 &&
	    write_ended(d, &step, &err) == 0 &&
	    write_nodes(d, &step, &err) == 0 && egs_daemon_commit(d, &err) == 0)
		clear_written(d, &step);
}

void egs_gpu_sums_write(struct egs_daemon *d)
{
	write_step(d, true);
}

static void prune_cells(struct egs_daemon *d)
{
	egs_time_t before =
		egs_daemon_now() - egs_daemon_conf(d)->cell_retention_s;
	struct egs_err err;

	if (egs_daemon_begin(d, &err) == 0 &&
	    egs_daemon_check_store(d,
				   egs_gpu_cell_prune(d->store, before,
						      count_gpus(d, PRUNE_ROWS),
						      &err),
				   &err) == 0)
		egs_daemon_commit(d, NULL);
}

static void write_in_turn(struct egs_daemon *d)
{
	struct egs_gpu_sums *sums = d->requests->gpu_sums;
	egs_time_t now = egs_daemon_now();

	if (!d->store || (now - sums->step_at < STEP_S && now >= sums->step_at))
		return;
	sums->step_at = now;
	write_step(d, false);
	if (sums->steps++ % PRUNE_STEPS == 0)
		prune_cells(d);
}

/* The daemon stops in order. */
static void write_last(struct egs_daemon *d)
{
	struct egs_node_samples *node;

	for (uint32_t i = 0; egs_gpu_samples_next(d, &i, &node); i++)
		for (uint32_t k = 0; k < node->n; k++)
			end_cell(d, i, &node->gpu[k]);
	egs_gpu_sums_write(d);
}

const struct egs_part egs_gpu_sums_part = {
	.name = "gpu sums",
	.init = init_sums,
	.ending = write_last,
	.stop = free_sums,
	.tick = write_in_turn,
};
