/* nvml_gpm.h - GPM: activity of a GPU over the time between two samples
 *
 * A GPU of Hopper or later counts the activity of its parts.  NVML's
 * utilisation is only the share of time in which a kernel ran.
 */
#ifndef EGS_NODED_NVML_GPM_H
#define EGS_NODED_NVML_GPM_H

#include "common/ipc/gpu_sample.h"
#include "noded/nvml_api.h"

/* Two samples of a GPU.  All zero: the GPU has no GPM. */
struct egs_nvml_gpm {
	void *device;
	int gpu_instance; /* of a MIG GPU, -1: the whole GPU */
	void *before, *after;
	bool has_before;
};

/* Begin, if the GPU has GPM. */
void egs_nvml_gpm_open(struct egs_nvml_gpm *gpm, const struct egs_nvml *nvml,
		       void *device, int gpu_instance);
void egs_nvml_gpm_close(struct egs_nvml_gpm *gpm, const struct egs_nvml *nvml);

/* Add the activity since the last call; the first call adds nothing. */
void egs_nvml_gpm_add(struct egs_nvml_gpm *gpm, const struct egs_nvml *nvml,
		      struct egs_gpu_sample *sample);

#endif
