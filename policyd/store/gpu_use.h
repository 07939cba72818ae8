/* gpu_use.h - what GPUs did for the jobs that had them, on disk
 *
 * Samples (common/ipc/gpu_sample.h) are kept in three forms:
 *
 *	gpu_use		sums of an attempt on one GPU, as long as its history
 *	gpu_rollup	sums of each hour and day, by kind of use (history.h)
 *	gpu_cell	an attempt on one GPU in five minutes, for
 *			SampleRetention
 *
 * Seconds are only ever added, in the transaction of the daemon: after a crash
 * none is counted twice.
 *
 * Calls write into the open transaction of the store.  They return 0, or -1
 * with 'err' set.
 */
#ifndef EGS_STORE_GPU_USE_H
#define EGS_STORE_GPU_USE_H

#include "policyd/store/store.h"

/* Sums of samples.  'x_s' is the time in which value x was known: 0 for a value
 * that was never known.
 */
struct egs_gpu_amounts {
	int64_t sampled_s; /* time that samples cover */
	int64_t sm_s, sm_percent_s, max_sm;
	int64_t mem_s, mem_mb_s, max_mem_mb, mem_total_mb;
	int64_t power_s, power_ws, max_power_w, power_limit_w;
	int64_t energy_s, energy_j;
	int64_t process_s;
	int64_t idle_s;	 /* of sm_s: no SM was busy */
	int64_t empty_s; /* of process_s: there was no process */
	/* Of power_s: busy by utilisation, with the power of an idle GPU. */
	int64_t low_power_s, low_power_ws;
};

/* Add 'more' to 'sum'. */
void egs_gpu_amounts_add(struct egs_gpu_amounts *sum,
			 const struct egs_gpu_amounts *more);

/* An attempt of a job (run of history.h) on one GPU. */
struct egs_gpu_use {
	uint32_t job_id, restarts;
	egs_time_t start; /* of the attempt */
	const char *node;
	uint32_t gpu;
	egs_time_t at; /* the last sample */
	struct egs_gpu_amounts sum;
};

/* Add to the sums of the attempt, and to those of the hour and day of 'at'.
 * 'type' is the type of the GPU: an attempt may have several.
 */
int egs_gpu_use_add(struct egs_store *store, const struct egs_gpu_use *use,
		    const char *type, struct egs_err *err);

/* The same for an attempt that was never sampled on that GPU: its processes
 * were too short.  Without the attempt in the history, or with sums of it,
 * nothing is written.
 */
int egs_gpu_use_add_unsampled(struct egs_store *store,
			      const struct egs_gpu_use *use, const char *type,
			      struct egs_err *err);

/* Cells begin at multiples of this. */
#define EGS_GPU_CELL_S 300

/* Cell N begins at N * EGS_GPU_CELL_S; the ids of its rows in gpu_cell have N
 * in their upper bits.  So rows are in the order of time without an index, and
 * only the end of the file is written.
 */
#define EGS_GPU_CELL_SHIFT 20

/* The first id of the cell in which 'at' is. */
static inline int64_t egs_gpu_cell_id(egs_time_t at)
{
	return at / EGS_GPU_CELL_S * (INT64_C(1) << EGS_GPU_CELL_SHIFT);
}

/* Add a row to the cell in which use->at is: means and maxima of use->sum, -1
 * for what is not known.  An attempt has two rows in a cell in which the daemon
 * was restarted.  Without the attempt in the history nothing is written.
 */
int egs_gpu_cell_add(struct egs_store *store, const struct egs_gpu_use *use,
		     struct egs_err *err);

/* Delete cells from before 'before', at most 'max' rows. */
int egs_gpu_cell_prune(struct egs_store *store, egs_time_t before, int64_t max,
		       struct egs_err *err);

#endif
