/* nvml_gpm.c - GPM: activity of a GPU over the time between two samples */
#include "noded/nvml_gpm.h"
#include "common/base/array.h"

static const struct {
	unsigned int id;
	enum egs_gpu_metric metric;
	double factor; /* from NVML's unit to that of the metric */
	bool of_slice; /* a slice has it, too */
} counters[] = {
	{ EGS_NVML_GPM_SM, EGS_GPU_SM, 1, true },
	{ EGS_NVML_GPM_TENSOR, EGS_GPU_TENSOR, 1, true },
	{ EGS_NVML_GPM_DRAM, EGS_GPU_DRAM, 1, true },
	{ EGS_NVML_GPM_PCIE_RX, EGS_GPU_PCIE_RX_KB, 1024, false },
	{ EGS_NVML_GPM_PCIE_TX, EGS_GPU_PCIE_TX_KB, 1024, false },
	{ EGS_NVML_GPM_NVLINK_RX, EGS_GPU_NVLINK_RX_KB, 1024, false },
	{ EGS_NVML_GPM_NVLINK_TX, EGS_GPU_NVLINK_TX_KB, 1024, false },
};

static bool has_functions(const struct egs_nvml *nvml, int gpu_instance)
{
	return nvml->gpm_support && nvml->gpm_alloc && nvml->gpm_metrics &&
	       (gpu_instance < 0 ? nvml->gpm_sample != NULL
				 : nvml->gpm_mig_sample != NULL);
}

void egs_nvml_gpm_open(struct egs_nvml_gpm *gpm, const struct egs_nvml *nvml,
		       void *device, int gpu_instance)
{
	struct egs_nvml_gpm_support support = {
		.version = EGS_NVML_GPM_SUPPORT_VERSION
	};

	*gpm = (struct egs_nvml_gpm){ .device = device,
				      .gpu_instance = gpu_instance };
	if (!has_functions(nvml, gpu_instance) ||
	    nvml->gpm_support(device, &support) != EGS_NVML_SUCCESS ||
	    !support.is_supported)
		return;
	if (nvml->gpm_alloc(&gpm->before) != EGS_NVML_SUCCESS ||
	    nvml->gpm_alloc(&gpm->after) != EGS_NVML_SUCCESS)
		gpm->before = NULL;
}

void egs_nvml_gpm_close(struct egs_nvml_gpm *gpm, const struct egs_nvml *nvml)
{
	if (gpm->before && nvml->gpm_free)
		nvml->gpm_free(gpm->before);
	if (gpm->after && nvml->gpm_free)
		nvml->gpm_free(gpm->after);
	gpm->before = gpm->after = NULL;
}

static bool take_sample(const struct egs_nvml_gpm *gpm,
			const struct egs_nvml *nvml)
{
	int code =
		gpm->gpu_instance < 0
			? nvml->gpm_sample(gpm->device, gpm->after)
			: nvml->gpm_mig_sample(gpm->device,
					       (unsigned int)gpm->gpu_instance,
					       gpm->after);

	return code == EGS_NVML_SUCCESS;
}

static void add_value(struct egs_gpu_sample *sample, size_t i, double value)
{
	value *= counters[i].factor;
	if (value >= 0 && value < 1e15) /* false for NaN */
		egs_gpu_sample_set(sample, counters[i].metric,
				   (int64_t)(value + 0.5), EGS_GPU_SOURCE_GPM);
}

static void add_values(const struct egs_nvml_gpm *gpm,
		       const struct egs_nvml *nvml,
		       struct egs_gpu_sample *sample)
{
	static struct egs_nvml_gpm_metrics metrics;

	metrics.version = EGS_NVML_GPM_METRICS_VERSION;
	metrics.count = ARRAY_SIZE(counters);
	metrics.before = gpm->before;
	metrics.after = gpm->after;
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		metrics.metric[i] =
			(struct egs_nvml_gpm_metric){ .id = counters[i].id };
	if (nvml->gpm_metrics(&metrics) != EGS_NVML_SUCCESS)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		if (metrics.metric[i].code == EGS_NVML_SUCCESS &&
		    (gpm->gpu_instance < 0 || counters[i].of_slice))
			add_value(sample, i, metrics.metric[i].value);
}

void egs_nvml_gpm_add(struct egs_nvml_gpm *gpm, const struct egs_nvml *nvml,
		      struct egs_gpu_sample *sample)
{
	bool had_before = gpm->has_before;
	void *before = gpm->before;

	if (!before)
		return;
	gpm->has_before = take_sample(gpm, nvml);
	if (had_before && gpm->has_before)
		add_values(gpm, nvml, sample);
	gpm->before = gpm->after;
	gpm->after = before;
}
