/* gpu_cap.h - power limits of GPUs that rules lower, and how they are sent
 *
 * The answer to "node-gpus" (gpu_sample.h) has all of the node in "caps", as
 * text, and the next request tells there what became of them.
 */
#ifndef EGS_IPC_GPU_CAP_H
#define EGS_IPC_GPU_CAP_H

#include "common/ipc/gpu_sample.h"

struct egs_gpu_cap {
	uint32_t gpu;	   /* its number in Slurm */
	uint32_t pct;	   /* of its limit before, 1 to 99 */
	uint32_t limit_mw; /* in force; 0: none, the driver refuses */
};

void egs_gpu_cap_set(struct egs_msg *msg, const struct egs_gpu_cap *list,
		     uint32_t n);

/* Read them; what is not from egs_gpu_cap_set() is left out.  Returns how many
 * there are, or -1 if 'msg' does not say.
 */
int egs_gpu_cap_read(const struct egs_msg *msg,
		     struct egs_gpu_cap list[EGS_GPU_SAMPLES_MAX]);

#endif
