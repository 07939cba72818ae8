/* nvml_values.h - values of a GPU that one call of NVIDIA's driver returns */
#ifndef EGS_NODED_NVML_VALUES_H
#define EGS_NODED_NVML_VALUES_H

#include "common/ipc/gpu_sample.h"
#include "noded/nvml_api.h"

/* Add the values of a GPU, or of a slice of it (NULL: the whole GPU).  A slice
 * has its own memory and processes.  Temperature, errors and clocks are those
 * of its GPU.  The driver does not tell its share of power and traffic, which
 * are absent.
 * Returns EGS_NVML_GPU_IS_LOST if the driver cannot reach the GPU, else
 * EGS_NVML_SUCCESS.
 */
int egs_nvml_values_add(const struct egs_nvml *nvml, void *device, void *slice,
			struct egs_gpu_sample *sample);

/* Read one field as a number.  Returns a code of NVML. */
int egs_nvml_values_read_field(const struct egs_nvml *nvml, void *device,
			       unsigned int id, unsigned int scope,
			       int64_t *value);

#endif
