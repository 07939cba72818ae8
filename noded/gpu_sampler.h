/* gpu_sampler.h - a process that measures the GPUs of this node
 *
 * NVIDIA's driver may hang for minutes, also in a way that no signal ends, or
 * crash its caller.  So a child process calls the driver (nvml_session.h) and
 * sends a batch of samples in each interval.  egs-noded never waits for the
 * child.  If no batch arrives in time, egs-noded kills the child, and starts
 * another one after a pause that grows with each failure.  There is never more
 * than one child.
 */
#ifndef EGS_NODED_GPU_SAMPLER_H
#define EGS_NODED_GPU_SAMPLER_H

#include <sys/types.h>

#include "common/base/loop.h"
#include "common/ipc/gpu_cap.h"

struct egs_gpu_sampler;

struct egs_gpu_sampler_conf {
	const char *node;
	const char *library;   /* of NVML */
	const char *gres_conf; /* NULL: beside slurm.conf */
	uint64_t interval_ms;
	uint64_t patience_ms;  /* how long the driver may take for a batch */
	const char *caps_path; /* file of nvml_cap.h; NULL: no power limits */
	/* Called with each batch (gpu_sample.h, gpu_process.h), which the
	 * callback may change.  Without samples the batch has an "error".
	 */
	void (*on_batch)(void *arg, struct egs_msg *batch);
	void *arg;
};

/* Start to sample; the strings of 'conf' are borrowed.  Returns NULL with 'err'
 * set on failure.
 */
struct egs_gpu_sampler *
egs_gpu_sampler_new(struct egs_loop *loop,
		    const struct egs_gpu_sampler_conf *conf,
		    struct egs_err *err);

/* Lower the power limits of these GPUs, and of no other, before the next batch.
 * Each batch has in "caps" what is in force (gpu_cap.h).
 */
void egs_gpu_sampler_set_caps(struct egs_gpu_sampler *sampler,
			      const struct egs_gpu_cap *list, uint32_t n);

/* Kill the child, without waiting for its end.  If power limits are lowered,
 * another child restores them; wait for it, some seconds at most.
 */
void egs_gpu_sampler_free(struct egs_gpu_sampler *sampler);

/* The child's process id, 0: none.  For tests. */
pid_t egs_gpu_sampler_pid(const struct egs_gpu_sampler *sampler);

#endif
