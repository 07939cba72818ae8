/* gpu_use.h - what each attempt did with each of its GPUs, on disk
 *
 * Sums of the samples (common/ipc/gpu_sample.h).  They are kept as long as the
 * history of the attempt.
 */
#ifndef EGS_STORE_GPU_USE_H
#define EGS_STORE_GPU_USE_H

#include "policyd/store/store.h"

/* Sums of an attempt of a job (run of history.h) on one GPU.  A value that was
 * never known has 0 seconds.
 */
struct egs_gpu_use {
	uint32_t job_id, restarts;
	egs_time_t start; /* of the attempt */
	const char *node;
	uint32_t gpu;
	egs_time_t at;		    /* the last sample */
	int64_t sampled_s;	    /* time that samples cover */
	int64_t sm_s, sm_percent_s; /* known, and times the utilisation */
	int64_t mem_s, max_mem_mb;
	int64_t energy_s, energy_j;
	int64_t idle_s;	 /* without a busy SM */
	int64_t empty_s; /* without a process */
};

/* Add these sums to those on disk.  Writes into the open transaction.  Returns
 * 0, or -1 with 'err' set.
 */
int egs_gpu_use_add(struct egs_store *store, const struct egs_gpu_use *use,
		    struct egs_err *err);

#endif
