/* gpu_advice.h - what to tell the owner of a job about GPUs that it does not
 * use
 *
 * A GPU is quiet if at least two samples show that no SM is busy, or that there
 * is no process.
 */
#ifndef EGS_REQUESTS_GPU_ADVICE_H
#define EGS_REQUESTS_GPU_ADVICE_H

#include "policyd/requests/gpu_samples.h"

/* The GPUs of a job, as far as Slurm tells which they are. */
struct egs_gpu_advice {
	uint32_t gpus;
	uint32_t quiet;	 /* of them: quiet now */
	uint32_t unused; /* of them: quiet since the job has started */
	int64_t quiet_s; /* for how long, the shortest of all */
	uint32_t nodes;
};

/* Seconds for which the GPU has been quiet; 0: it is not, or it is unknown. */
int64_t egs_gpu_advice_quiet_s(const struct egs_node_samples *node,
			       const struct egs_gpu_record *record,
			       egs_time_t now);

/* Has the GPU been quiet since its job has started? */
bool egs_gpu_advice_is_unused(const struct egs_node_samples *node,
			      const struct egs_gpu_record *record,
			      const struct egs_job *j, egs_time_t now);

/* Look at all GPUs of a running job. */
void egs_gpu_advice_count(const struct egs_daemon *d, const struct egs_job *j,
			  struct egs_gpu_advice *advice);

/* "--gres=gpu:3 would have done"; "": nothing to say. */
void egs_gpu_advice_format_request(const struct egs_gpu_advice *advice,
				   struct egs_text *text);

/* Which GPUs of the job are quiet, and what its owner can do.  Returns false if
 * none is.
 */
bool egs_gpu_advice_format(const struct egs_daemon *d, const struct egs_job *j,
			   struct egs_text *text);

/* "41 min" */
const char *egs_gpu_advice_format_time(int64_t seconds, struct egs_text *text);

#endif
