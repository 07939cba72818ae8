/* gpu_process.c - ended processes of GPUs in a message
 *
 * A process is "GPU:JOB:RESTARTS:START:AGE:RUN:SM:MEM", and commas are between
 * processes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/ipc/gpu_process.h"

/* Longer than any process, and more memory than any GPU has. */
#define RUN_MAX_MS (INT64_C(10) * 365 * 86400 * 1000)
#define MEM_MAX_MB (1 << 26)

enum { GPUS_MAX = 64, TEXT_MAX = 160 };

void egs_gpu_process_set(struct egs_msg *request,
			 const struct egs_gpu_process *list, uint32_t n)
{
	char text[EGS_GPU_PROCESSES_MAX * TEXT_MAX] = "";
	size_t len = 0;

	for (uint32_t i = 0; i < n && i < EGS_GPU_PROCESSES_MAX; i++)
		len += (size_t)snprintf(
			text + len, sizeof(text) - len,
			"%s%" PRIu32 ":%" PRIu32 ":%" PRIu32 ":%" PRId64
			":%" PRId64 ":%" PRId64 ":%" PRId64 ":%" PRId64,
			i ? "," : "", list[i].gpu, list[i].job_id,
			list[i].restarts, list[i].start, list[i].age_ms,
			list[i].run_ms, list[i].sm, list[i].max_mem_mb);
	egs_msg_set_str(request, "ended", text);
}

static bool is_within(int64_t value, int64_t least, int64_t most)
{
	return value >= least && value <= most;
}

static bool is_sane(const struct egs_gpu_process *p)
{
	return p->gpu < GPUS_MAX && p->start >= 0 &&
	       is_within(p->age_ms, 0, RUN_MAX_MS) &&
	       is_within(p->run_ms, 0, RUN_MAX_MS) &&
	       is_within(p->sm, -1, 100) &&
	       is_within(p->max_mem_mb, -1, MEM_MAX_MB);
}

uint32_t
egs_gpu_process_read(const struct egs_msg *request,
		     struct egs_gpu_process list[EGS_GPU_PROCESSES_MAX])
{
	const char *text = egs_msg_get_str(request, "ended");
	struct egs_gpu_process p;
	uint32_t n = 0;

	for (; text && n < EGS_GPU_PROCESSES_MAX; text = strchr(text, ',')) {
		text += *text == ',';
		if (sscanf(text,
			   "%" SCNu32 ":%" SCNu32 ":%" SCNu32 ":%" SCNd64
			   ":%" SCNd64 ":%" SCNd64 ":%" SCNd64 ":%" SCNd64,
			   &p.gpu, &p.job_id, &p.restarts, &p.start, &p.age_ms,
			   &p.run_ms, &p.sm, &p.max_mem_mb) == 8 &&
		    is_sane(&p))
			list[n++] = p;
	}
	return n;
}
