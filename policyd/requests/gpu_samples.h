/* gpu_samples.h - the last sample of each GPU, and whose it is
 *
 * A GPU belongs to the job to which Slurm has allocated it, whatever processes
 * are on it.  So a GPU that a job holds and does not use can be seen, and no
 * process of another user changes what a user sees of his job.
 *
 * A sample is kept with the job that had the GPU when the sample arrived, and
 * is shown for no other job.  Samples are only in memory: a node sends new
 * ones.  Their sums for each attempt and GPU go to the store (gpu_sums.c).
 */
#ifndef EGS_REQUESTS_GPU_SAMPLES_H
#define EGS_REQUESTS_GPU_SAMPLES_H

#include "common/ipc/gpu_process.h"
#include "common/ipc/gpu_sample.h"
#include "policyd/requests/requests.h"
#include "policyd/store/gpu_use.h"

/* A GPU. */
struct egs_gpu_record {
	struct egs_gpu_sample sample;
	struct egs_identity holder; /* job_id 0: no job had it */
	egs_time_t held_since;	    /* as far as we have seen */
	uint64_t held_since_ms;	    /* likewise, by the steady clock */
	/* Counters when the holder got it. */
	int64_t energy_before_j, xids_before;
	struct egs_gpu_use use; /* sums of the holder that are not on disk */
	struct egs_gpu_amounts cell; /* likewise, of the current cell */
	egs_time_t cell_at;	     /* when its first sample began */
};

/* The samples of a node. */
struct egs_node_samples {
	egs_time_t sampled_at;	/* the last batch with samples, 0: never */
	egs_time_t reported_at; /* the last batch, 0: never */
	egs_time_t written_at;	/* the sums of its GPUs, 0: never */
	uint32_t interval_s;	/* between two batches */
	struct egs_text error;	/* why the last batch has no samples, "" */
	char driver[32];	/* its version, "-": not told */
	struct egs_text caps;	/* power limits that it has told */
	char session[24];	/* counters begin at 0 when this changes */
	uint32_t n;
	struct egs_gpu_record gpu[]; /* ordered as in the batch */
};

/* The samples of a node; NULL: it has sent none. */
const struct egs_node_samples *egs_gpu_samples_of(const struct egs_daemon *d,
						  uint32_t node);

/* The record of a GPU; NULL: none. */
const struct egs_gpu_record *
egs_gpu_samples_find(const struct egs_node_samples *node, uint32_t gpu);

/* Is this the run of the job for which the sample was taken?  'job' is NULL for
 * a GPU that no job has.
 */
bool egs_gpu_record_is_of(const struct egs_gpu_record *record,
			  const struct egs_job *job);

/* Does the node measure its GPUs at present?  False for NULL. */
bool egs_gpu_samples_are_fresh(const struct egs_node_samples *node,
			       egs_time_t now);

/* Has the node sent nothing for longer than it should? */
bool egs_gpu_samples_are_late(const struct egs_node_samples *node,
			      egs_time_t now);

/* Seconds until 'now' in which no SM of the GPU was busy, and in which there
 * was no process on it.  Only the time counts in which its holder has it.  -1:
 * not known, or the node does not measure at present.
 */
int64_t egs_gpu_record_idle_s(const struct egs_node_samples *node,
			      const struct egs_gpu_record *record,
			      egs_time_t now);
int64_t egs_gpu_record_empty_s(const struct egs_node_samples *node,
			       const struct egs_gpu_record *record,
			       egs_time_t now);

/* The next node from number '*i' on that has sent samples; false: none. */
bool egs_gpu_samples_next(const struct egs_daemon *d, uint32_t *i,
			  struct egs_node_samples **node);

/* ---- show_gpus.c ---- */

/* What is known of a GPU that job 'j' (NULL: none) has. */
struct egs_gpu_look {
	int64_t sm_pct; /* how busy it is, -1: unknown */
	bool is_idle;	/* the job has it and does not use it */
	bool is_sick;	/* the driver lacks it, or asks for a repair */
};
struct egs_gpu_look egs_gpus_look(struct egs_daemon *d, uint32_t node,
				  uint32_t gpu, const struct egs_job *j);

/* ---- gpu_sums.c ---- */

/* Begin the sums of a GPU that job 'j' (NULL: none) has now, add a sample that
 * stands for 'seconds', and end the sums because another job has the GPU.
 */
void egs_gpu_sums_begin(struct egs_gpu_record *record, const struct egs_job *j);
void egs_gpu_sums_add(struct egs_daemon *d, uint32_t node,
		      struct egs_gpu_record *record, int64_t energy_before_j,
		      egs_time_t at, int64_t seconds);
void egs_gpu_sums_end(struct egs_daemon *d, uint32_t node,
		      const struct egs_gpu_record *record);

/* Add a process that has ended.  'record' is of its GPU, or NULL. */
void egs_gpu_sums_add_process(struct egs_daemon *d, uint32_t node,
			      struct egs_gpu_record *record,
			      const struct egs_gpu_process *process);

/* Write all sums, and cells that are over, to the store. */
void egs_gpu_sums_write(struct egs_daemon *d);

#endif
