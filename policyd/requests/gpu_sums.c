/* gpu_sums.c - sums of samples for each attempt and GPU, to the store
 *
 * Sums grow in memory and are written together, at most every WRITE_S seconds.
 * A daemon that is killed loses the sums of that time.
 */
#include <stdlib.h>

#include "common/base/grow.h"
#include "policyd/requests/gpu_samples.h"

enum {
	WRITE_S = 30,
	/* More jobs do not end in that time; if they do, sums are lost. */
	ENDED_MAX = 65536,
};

/* Sums of a GPU that has changed hands. */
struct ended_sums {
	uint32_t node;
	struct egs_gpu_use use;
};

struct egs_gpu_sums {
	struct ended_sums *ended;
	uint32_t n, room;
	egs_time_t written_at;
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

void egs_gpu_sums_begin(struct egs_gpu_record *record, const struct egs_job *j)
{
	record->use = (struct egs_gpu_use){ .gpu = record->sample.gpu };
	if (!j)
		return;
	record->use.job_id = j->ident.job_id;
	record->use.restarts = j->ident.restarts;
	record->use.start = j->started;
}

/* Energy since the last sample; the counter may have begun again. */
static int64_t get_energy_step(const struct egs_gpu_record *record,
			       int64_t before_j)
{
	int64_t now_j = record->sample.value[EGS_GPU_ENERGY_J].value;

	return now_j >= before_j ? now_j - before_j : now_j;
}

void egs_gpu_sums_add(struct egs_gpu_record *record, int64_t energy_before_j,
		      egs_time_t at, int64_t seconds)
{
	const struct egs_gpu_sample *sample = &record->sample;
	const struct egs_gpu_value *value = sample->value;
	struct egs_gpu_use *use = &record->use;

	if (!use->job_id || seconds <= 0)
		return;
	use->at = at;
	use->sampled_s += seconds;
	if (egs_gpu_sample_has(sample, EGS_GPU_SM)) {
		use->sm_s += seconds;
		use->sm_percent_s += seconds * value[EGS_GPU_SM].value;
		use->idle_s += value[EGS_GPU_SM].value ? 0 : seconds;
	}
	if (egs_gpu_sample_has(sample, EGS_GPU_MEM_MB)) {
		use->mem_s += seconds;
		if (value[EGS_GPU_MEM_MB].value > use->max_mem_mb)
			use->max_mem_mb = value[EGS_GPU_MEM_MB].value;
	}
	if (egs_gpu_sample_has(sample, EGS_GPU_ENERGY_J)) {
		use->energy_s += seconds;
		use->energy_j += get_energy_step(record, energy_before_j);
	}
	if (egs_gpu_sample_has(sample, EGS_GPU_PROCESSES))
		use->empty_s += value[EGS_GPU_PROCESSES].value ? 0 : seconds;
}

void egs_gpu_sums_end(struct egs_daemon *d, uint32_t node,
		      const struct egs_gpu_record *record)
{
	struct egs_gpu_sums *sums = d->requests->gpu_sums;

	if (!record->use.sampled_s || sums->n >= ENDED_MAX ||
	    egs_grow(&sums->ended, &sums->room, sums->n + 1) < 0)
		return;
	sums->ended[sums->n++] =
		(struct ended_sums){ .node = node, .use = record->use };
}

static int write_use(struct egs_daemon *d, uint32_t node,
		     const struct egs_gpu_use *use, struct egs_err *err)
{
	const struct egs_node_info *info =
		egs_cluster_get_node(d->cluster, node);
	struct egs_gpu_use row = *use;

	if (!info || !use->sampled_s)
		return 0;
	row.node = info->name;
	return egs_daemon_check_store(d, egs_gpu_use_add(d->store, &row, err),
				      err);
}

static int write_all(struct egs_daemon *d, struct egs_err *err)
{
	const struct egs_gpu_sums *sums = d->requests->gpu_sums;
	struct egs_node_samples *node;

	for (uint32_t i = 0; i < sums->n; i++)
		if (write_use(d, sums->ended[i].node, &sums->ended[i].use,
			      err) < 0)
			return -1;
	for (uint32_t i = 0; egs_gpu_samples_next(d, &i, &node); i++)
		for (uint32_t k = 0; k < node->n; k++)
			if (write_use(d, i, &node->gpu[k].use, err) < 0)
				return -1;
	return 0;
}

/* What is on disk is not added again. */
static void clear_written(struct egs_daemon *d)
{
	struct egs_node_samples *node;

	d->requests->gpu_sums->n = 0;
	for (uint32_t i = 0; egs_gpu_samples_next(d, &i, &node); i++)
		for (uint32_t k = 0; k < node->n; k++) {
			struct egs_gpu_use *use = &node->gpu[k].use;

			*use = (struct egs_gpu_use){
				.job_id = use->job_id,
				.restarts = use->restarts,
				.start = use->start,
				.gpu = use->gpu,
			};
		}
}

static bool has_unwritten(struct egs_daemon *d)
{
	struct egs_node_samples *node;

	if (d->requests->gpu_sums->n)
		return true;
	for (uint32_t i = 0; egs_gpu_samples_next(d, &i, &node); i++)
		for (uint32_t k = 0; k < node->n; k++)
			if (node->gpu[k].use.sampled_s)
				return true;
	return false;
}

/* If the disk fails, sums grow until it works again. */
void egs_gpu_sums_write(struct egs_daemon *d)
{
	struct egs_err err;

	if (has_unwritten(d) && egs_daemon_begin(d, &err) == 0 &&
	    write_all(d, &err) == 0 && egs_daemon_commit(d, &err) == 0)
		clear_written(d);
}

static void write_in_time(struct egs_daemon *d)
{
	struct egs_gpu_sums *sums = d->requests->gpu_sums;

	if (egs_daemon_now() - sums->written_at < WRITE_S &&
	    egs_daemon_now() >= sums->written_at)
		return;
	sums->written_at = egs_daemon_now();
	egs_gpu_sums_write(d);
}

const struct egs_part egs_gpu_sums_part = {
	.name = "gpu sums",
	.init = init_sums,
	.stop = free_sums,
	.tick = write_in_time,
};
