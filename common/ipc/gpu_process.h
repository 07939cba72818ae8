/* gpu_process.h - what ended processes did on a GPU, and how it is sent
 *
 * A job may be too short to be sampled.  In accounting mode NVIDIA's driver
 * knows what each process did, also after its end.  The request "node-gpus"
 * (gpu_sample.h) has them in "ended", as text.
 */
#ifndef EGS_IPC_GPU_PROCESS_H
#define EGS_IPC_GPU_PROCESS_H

#include "common/ipc/msg.h"

/* Most of a request. */
#define EGS_GPU_PROCESSES_MAX 128

struct egs_gpu_process {
	uint32_t gpu; /* its number in Slurm */
	/* The attempt that had the GPU; job_id 0: not known yet. */
	uint32_t job_id, restarts;
	int64_t start;	/* of the attempt */
	int64_t age_ms; /* since the process began */
	int64_t run_ms; /* how long it ran */
	int64_t sm;	/* % of the time in which a kernel ran; -1: unknown */
	int64_t max_mem_mb; /* most memory; -1: unknown */
};

void egs_gpu_process_set(struct egs_msg *request,
			 const struct egs_gpu_process *list, uint32_t n);

/* Read them; what is not from egs_gpu_process_set() is left out.  Returns how
 * many there are.
 */
uint32_t
egs_gpu_process_read(const struct egs_msg *request,
		     struct egs_gpu_process list[EGS_GPU_PROCESSES_MAX]);

#endif
