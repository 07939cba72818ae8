/* gpu_batch.h - a batch of samples as egs-noded sends it, for benchmarks */
#ifndef EGS_BENCH_GPU_BATCH_H
#define EGS_BENCH_GPU_BATCH_H

#include "common/ipc/gpu_sample.h"

/* A GPU that is well; all its values are there. */
static inline struct egs_gpu_sample make_gpu_sample(uint32_t gpu)
{
	struct egs_gpu_sample sample = { .gpu = gpu };

	for (int i = 0; i < EGS_GPU_METRICS; i++)
		egs_gpu_sample_set(&sample, (enum egs_gpu_metric)i, 50 + i,
				   EGS_GPU_SOURCE_NVML);
	sample.value[EGS_GPU_XID].value = 0;
	sample.value[EGS_GPU_XIDS].value = 0;
	sample.value[EGS_GPU_ECC].value = 0;
	sample.value[EGS_GPU_RECOVERY].value = 0;
	sample.value[EGS_GPU_RECOVERY].source = EGS_GPU_SOURCE_NVML;
	sample.value[EGS_GPU_CLOCK_REASONS].value = EGS_GPU_CLOCK_POWER_CAP;
	return sample;
}

/* NULL: out of memory. */
static inline struct egs_msg *make_gpu_batch(const char *node, uint32_t gpus,
					     int64_t interval_s)
{
	struct egs_msg *request = egs_msg_new();

	if (!request)
		return NULL;
	egs_msg_set_str(request, "verb", "node-gpus");
	egs_msg_set_str(request, "node", node);
	egs_msg_set_int(request, "interval", interval_s);
	egs_msg_set_str(request, "driver", "555.42");
	egs_msg_set_str(request, "session", "5eed");
	egs_gpu_sample_begin(request);
	for (uint32_t gpu = 0; gpu < gpus; gpu++) {
		struct egs_gpu_sample sample = make_gpu_sample(gpu);

		egs_gpu_sample_add(request, &sample);
	}
	return request;
}

#endif
