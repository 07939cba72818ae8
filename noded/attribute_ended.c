/* attribute_ended.c - find the jobs of what has happened on GPUs
 *
 * Processes that have ended wait here until egs-policyd has taken them.  While
 * egs-policyd is away, the list is full at some time, and later processes are
 * dropped.  XIDs are in each batch: their sender counts them.
 */
#include "noded/noded.h"

void egs_noded_update_tenures(struct egs_noded *noded)
{
	egs_tenures_begin(&noded->tenures);
	for (size_t i = 0; i < noded->norders; i++) {
		const struct egs_job_orders *orders = &noded->orders[i];
		const struct egs_tenure job = {
			.job = orders->job,
			.restarts = orders->restarts,
			.start = orders->start,
			.gpu_set = orders->gpu_set,
		};

		egs_tenures_see(&noded->tenures, &job, orders->age_ms,
				noded->orders_ms);
	}
	egs_tenures_end(&noded->tenures, noded->orders_ms);
}

/* The tenure of a GPU so long ago; NULL: none. */
static const struct egs_tenure *find_tenure(const struct egs_noded *noded,
					    uint32_t gpu, uint64_t age_ms,
					    uint64_t now_ms)
{
	return egs_tenures_find(&noded->tenures, gpu,
				now_ms > age_ms ? now_ms - age_ms : 0);
}

static void attribute_process(struct egs_noded *noded,
			      struct egs_gpu_process *process, uint64_t now_ms)
{
	const struct egs_tenure *tenure = find_tenure(
		noded, process->gpu, (uint64_t)process->age_ms, now_ms);

	if (!tenure || noded->nended == EGS_GPU_PROCESSES_MAX)
		return;
	process->job_id = tenure->job;
	process->restarts = tenure->restarts;
	process->start = tenure->start;
	noded->ended[noded->nended++] = *process;
}

void egs_noded_attribute_ended(struct egs_noded *noded, struct egs_msg *batch)
{
	static struct egs_gpu_process list[EGS_GPU_PROCESSES_MAX];
	uint32_t n = egs_gpu_process_read(batch, list);
	uint64_t now_ms = egs_now_ms();

	for (uint32_t i = 0; i < n; i++)
		attribute_process(noded, &list[i], now_ms);
	egs_gpu_process_set(batch, noded->ended, noded->nended);
}

void egs_noded_forget_ended(struct egs_noded *noded, uint32_t sent)
{
	noded->nended -= sent;
	for (uint32_t i = 0; i < noded->nended; i++)
		noded->ended[i] = noded->ended[i + sent];
}

/* ---- XIDs ---- */

static void attribute_xid(const struct egs_noded *noded, uint32_t gpu,
			  struct egs_gpu_xid *xid, uint64_t now_ms)
{
	const struct egs_tenure *tenure =
		find_tenure(noded, gpu, xid->age_ms, now_ms);

	if (!tenure)
		return;
	xid->job_id = tenure->job;
	xid->restarts = tenure->restarts;
	xid->start = tenure->start;
}

void egs_noded_attribute_xids(const struct egs_noded *noded,
			      struct egs_msg *batch)
{
	static struct egs_gpu_sample samples[EGS_GPU_SAMPLES_MAX];
	int n = egs_gpu_sample_read(batch, samples, NULL);
	uint64_t now_ms = egs_now_ms();
	uint32_t found = 0;

	for (int i = 0; i < n; i++)
		for (uint32_t k = 0; k < samples[i].nxids; k++, found++)
			attribute_xid(noded, samples[i].gpu, &samples[i].xid[k],
				      now_ms);
	if (!found)
		return;
	egs_gpu_sample_begin(batch);
	for (int i = 0; i < n; i++)
		egs_gpu_sample_add(batch, &samples[i]);
}
