/* nvml_cap.h - lower the power limits of GPUs for a while, and undo that
 *
 * The driver keeps a limit when its process has ended.  So the limits before
 * are in a file before the first one is changed, and the next process finds
 * them there.  A limit that is not ours any more, because an administrator has
 * set another one, is left alone.
 *
 * Only the sampler process (gpu_sampler.h) calls these functions.
 */
#ifndef EGS_NODED_NVML_CAP_H
#define EGS_NODED_NVML_CAP_H

#include "common/ipc/gpu_cap.h"
#include "noded/nvml_session.h"

/* A GPU whose limit we have lowered. */
struct egs_nvml_cap {
	char uuid[EGS_GPU_UUID_SIZE];
	unsigned int before_mw, set_mw;
};

struct egs_nvml_caps {
	const char *path; /* of the file */
	struct egs_nvml_cap list[EGS_NODE_GPUS_MAX];
	uint32_t n;
};

/* Read the file of an earlier process and give all GPUs their limits back. */
void egs_nvml_caps_restore(struct egs_nvml_caps *caps,
			   const struct egs_nvml_session *session,
			   const char *path);

/* Lower the limits of these GPUs to a percentage of what they were, never below
 * the driver's minimum; give all others their limits back.  Slices of a GPU
 * share its limit, and the lowest counts.  'limit_mw' of each entry is set, to
 * 0 if the driver refuses or the file cannot be written.
 */
void egs_nvml_caps_apply(struct egs_nvml_caps *caps,
			 const struct egs_nvml_session *session,
			 struct egs_gpu_cap *orders, uint32_t n);

#endif
