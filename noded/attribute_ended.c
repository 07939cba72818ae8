/* attribute_ended.c - find the jobs of processes that have ended on GPUs
 *
 * They wait here until egs-policyd has taken them.  While egs-policyd is away,
 * the list is full at some time, and later processes are dropped.
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

static void attribute_process(struct egs_noded *noded,
			      struct egs_gpu_process *process, uint64_t now_ms)
{
	uint64_t age_ms = (uint64_t)process->age_ms;
	const struct egs_tenure *tenure =
		egs_tenures_find(&noded->tenures, process->gpu,
				 now_ms > age_ms ? now_ms - age_ms : 0);

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
