/* nvml_accounting.c - processes that have ended on a GPU, by the driver
 *
 * The driver tells when a process began by the clock that an administrator can
 * set.  A process that is new in the list began after the list was last read,
 * whatever that clock says.
 */
#include <stdlib.h>
#include <time.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "noded/nvml_accounting.h"

enum { PIDS_MAX = 8192, MB_SHIFT = 20 };

void egs_nvml_accounting_open(struct egs_nvml_accounting *accounting,
			      const struct egs_nvml *nvml, void *device)
{
	int mode = 0;

	*accounting = (struct egs_nvml_accounting){ .is_on = false };
	if (!nvml->accounting_mode || !nvml->accounting_pids ||
	    !nvml->accounting_stats ||
	    nvml->accounting_mode(device, &mode) != EGS_NVML_SUCCESS)
		return;
	accounting->is_on = mode || (nvml->set_accounting_mode &&
				     nvml->set_accounting_mode(device, 1) ==
					     EGS_NVML_SUCCESS);
}

void egs_nvml_accounting_close(struct egs_nvml_accounting *accounting)
{
	free(accounting->ended);
	*accounting = (struct egs_nvml_accounting){ .is_on = false };
}

static int compare_pids(const void *a, const void *b)
{
	const unsigned int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool has_ended(const struct egs_nvml_accounting *accounting,
		      unsigned int pid)
{
	return accounting->n && bsearch(&pid, accounting->ended, accounting->n,
					sizeof(pid), compare_pids);
}

/* A value that the driver does not know has all bits set. */
static int64_t limit_value(unsigned long long value, int64_t most)
{
	return value <= (unsigned long long)most ? (int64_t)value : -1;
}

static int64_t get_age_ms(const struct egs_nvml_accounting *accounting,
			  const struct egs_nvml_accounting_stats *stats,
			  uint64_t now_ms)
{
	int64_t since_read_ms = (int64_t)(now_ms - accounting->read_ms);
	int64_t run_ms = (int64_t)stats->time_ms, age_ms;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	age_ms = (int64_t)now.tv_sec * 1000 - (int64_t)(stats->start_us / 1000);
	if (age_ms > since_read_ms && run_ms < since_read_ms)
		age_ms = since_read_ms;
	return age_ms > run_ms ? age_ms : run_ms;
}

static void add_process(const struct egs_nvml_accounting *accounting,
			const struct egs_nvml_accounting_stats *stats,
			uint64_t now_ms, struct egs_gpu_process *process)
{
	*process = (struct egs_gpu_process){ .job_id = 0 };
	process->run_ms = (int64_t)stats->time_ms;
	process->age_ms = get_age_ms(accounting, stats, now_ms);
	process->sm = limit_value(stats->gpu, 100);
	process->max_mem_mb =
		limit_value(stats->max_memory >> MB_SHIFT, 1 << 26);
}

/* Has this process ended?  Add it to 'list' if that is news.  One that does not
 * fit is asked for again.
 */
static bool note_end(const struct egs_nvml_accounting *accounting,
		     const struct egs_nvml *nvml, void *device,
		     unsigned int pid, struct egs_gpu_process *list,
		     uint32_t *n)
{
	struct egs_nvml_accounting_stats stats = { .is_running = 1 };

	if (has_ended(accounting, pid))
		return true;
	if (nvml->accounting_stats(device, pid, &stats) != EGS_NVML_SUCCESS ||
	    stats.is_running)
		return false;
	if (!accounting->read_ms)
		return true;
	if (*n == EGS_GPU_PROCESSES_MAX)
		return false;
	add_process(accounting, &stats, egs_now_ms(), &list[(*n)++]);
	return true;
}

void egs_nvml_accounting_read(struct egs_nvml_accounting *accounting,
			      const struct egs_nvml *nvml, void *device,
			      uint32_t gpu, struct egs_gpu_process *list,
			      uint32_t *n)
{
	static unsigned int pids[PIDS_MAX];
	unsigned int count = ARRAY_SIZE(pids), kept = 0;
	uint32_t first = *n;

	if (!accounting->is_on ||
	    nvml->accounting_pids(device, &count, pids) != EGS_NVML_SUCCESS ||
	    count > ARRAY_SIZE(pids))
		return;
	for (unsigned int i = 0; i < count; i++)
		if (note_end(accounting, nvml, device, pids[i], list, n))
			pids[kept++] = pids[i];
	for (uint32_t i = first; i < *n; i++)
		list[i].gpu = gpu;
	accounting->read_ms = egs_now_ms();
	if (egs_grow(&accounting->ended, &accounting->room, kept) < 0)
		return;
	qsort(pids, kept, sizeof(pids[0]), compare_pids);
	accounting->n = kept;
	for (unsigned int i = 0; i < kept; i++)
		accounting->ended[i] = pids[i];
}
