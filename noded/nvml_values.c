/* nvml_values.c - values of a GPU that one call of NVIDIA's driver returns
 *
 * To add one: a reader, and a row in readers[].
 */
#include "noded/nvml_values.h"
#include "common/base/array.h"

enum {
	MB_SHIFT = 20,
	/* Rows of the driver; the length is all that is used of them. */
	PROCESSES_MAX = 4096,
};

/* A reader returns a code of NVML and, with EGS_NVML_SUCCESS, a value. */
typedef int value_reader(const struct egs_nvml *nvml, void *device,
			 int64_t *value);

static int read_utilization(const struct egs_nvml *nvml, void *device,
			    int64_t *value)
{
	struct egs_nvml_utilization rates = { .gpu = 0 };
	int code = nvml->utilization ? nvml->utilization(device, &rates)
				     : EGS_NVML_NOT_SUPPORTED;

	*value = rates.gpu;
	return code;
}

/* A function that returns one number; NULL: the library lacks it. */
static int read_number(int (*fn)(void *device, unsigned int *number),
		       void *device, int64_t *value)
{
	unsigned int number = 0;
	int code = fn ? fn(device, &number) : EGS_NVML_NOT_SUPPORTED;

	*value = number;
	return code;
}

static int read_power(const struct egs_nvml *nvml, void *device, int64_t *value)
{
	return read_number(nvml->power, device, value);
}

static int read_power_limit(const struct egs_nvml *nvml, void *device,
			    int64_t *value)
{
	return read_number(nvml->power_limit, device, value);
}

/* Likewise, of a function that returns several by their number. */
static int read_numbered(int (*fn)(void *device, int which,
				   unsigned int *number),
			 void *device, int which, int64_t *value)
{
	unsigned int number = 0;
	int code = fn ? fn(device, which, &number) : EGS_NVML_NOT_SUPPORTED;

	*value = number;
	return code;
}

static int read_temperature(const struct egs_nvml *nvml, void *device,
			    int64_t *value)
{
	return read_numbered(nvml->temperature, device,
			     EGS_NVML_TEMPERATURE_GPU, value);
}

/* A GPU that does not tell says 0. */
static int read_temperature_limit(const struct egs_nvml *nvml, void *device,
				  int64_t *value)
{
	int code = read_numbered(nvml->temperature_limit, device,
				 EGS_NVML_TEMPERATURE_SLOWDOWN, value);

	return code == EGS_NVML_SUCCESS && !*value ? EGS_NVML_NOT_SUPPORTED
						   : code;
}

static int read_clock_reasons(const struct egs_nvml *nvml, void *device,
			      int64_t *value)
{
	unsigned long long bits = 0;
	int code = nvml->clock_reasons ? nvml->clock_reasons(device, &bits)
				       : EGS_NVML_NOT_SUPPORTED;

	*value = (int64_t)bits;
	return code;
}

static int read_ecc(const struct egs_nvml *nvml, void *device, int kind,
		    int64_t *value)
{
	unsigned long long errors = 0;
	int code = nvml->ecc ? nvml->ecc(device, kind, EGS_NVML_ECC_VOLATILE,
					 &errors)
			     : EGS_NVML_NOT_SUPPORTED;

	*value = (int64_t)errors;
	return code;
}

static int read_ecc_uncorrected(const struct egs_nvml *nvml, void *device,
				int64_t *value)
{
	return read_ecc(nvml, device, EGS_NVML_ECC_UNCORRECTED, value);
}

static int read_ecc_corrected(const struct egs_nvml *nvml, void *device,
			      int64_t *value)
{
	return read_ecc(nvml, device, EGS_NVML_ECC_CORRECTED, value);
}

static int read_pcie_rx(const struct egs_nvml *nvml, void *device,
			int64_t *value)
{
	return read_numbered(nvml->pcie, device, EGS_NVML_PCIE_RX, value);
}

static int read_pcie_tx(const struct egs_nvml *nvml, void *device,
			int64_t *value)
{
	return read_numbered(nvml->pcie, device, EGS_NVML_PCIE_TX, value);
}

/* Drivers differ in the type of a field. */
int egs_nvml_values_read_field(const struct egs_nvml *nvml, void *device,
			       unsigned int id, unsigned int scope,
			       int64_t *value)
{
	struct egs_nvml_field field = { .id = id, .scope = scope };
	int code = nvml->fields ? nvml->fields(device, 1, &field)
				: EGS_NVML_NOT_SUPPORTED;

	if (code != EGS_NVML_SUCCESS)
		return code;
	switch (field.type) {
	case EGS_NVML_TYPE_U32:
		*value = field.value.u32;
		break;
	case EGS_NVML_TYPE_ULONG:
	case EGS_NVML_TYPE_U64:
	case EGS_NVML_TYPE_S64:
		*value = field.value.s64;
		break;
	default:
		return EGS_NVML_NOT_SUPPORTED;
	}
	return field.code;
}

static int read_recovery(const struct egs_nvml *nvml, void *device,
			 int64_t *value)
{
	return egs_nvml_values_read_field(nvml, device, EGS_NVML_FIELD_RECOVERY,
					  0, value);
}

/* With EGS_NVML_INSUFFICIENT_SIZE the driver sets the number. */
static int read_process_count(const struct egs_nvml *nvml, void *device,
			      int64_t *value)
{
	static struct egs_nvml_process list[PROCESSES_MAX];
	unsigned int count = ARRAY_SIZE(list);
	int code = nvml->processes ? nvml->processes(device, &count, list)
				   : EGS_NVML_NOT_SUPPORTED;

	*value = count;
	return code == EGS_NVML_INSUFFICIENT_SIZE ? EGS_NVML_SUCCESS : code;
}

/* Whom the driver is asked about for a slice. */
enum slice_source {
	ASK_NOBODY, /* the value is of the whole GPU, and nobody's share known
		     */
	ASK_GPU,
	ASK_SLICE,
};

static const struct {
	enum egs_gpu_metric metric;
	enum slice_source of_slice;
	value_reader *read;
} readers[] = {
	{ EGS_GPU_SM, ASK_NOBODY, read_utilization },
	{ EGS_GPU_UTIL, ASK_NOBODY, read_utilization },
	{ EGS_GPU_POWER_MW, ASK_NOBODY, read_power },
	{ EGS_GPU_POWER_LIMIT_MW, ASK_NOBODY, read_power_limit },
	{ EGS_GPU_TEMP_C, ASK_GPU, read_temperature },
	{ EGS_GPU_TEMP_LIMIT_C, ASK_GPU, read_temperature_limit },
	{ EGS_GPU_CLOCK_REASONS, ASK_GPU, read_clock_reasons },
	{ EGS_GPU_ECC, ASK_GPU, read_ecc_uncorrected },
	{ EGS_GPU_ECC_CORRECTED, ASK_GPU, read_ecc_corrected },
	{ EGS_GPU_PCIE_RX_KB, ASK_NOBODY, read_pcie_rx },
	{ EGS_GPU_PCIE_TX_KB, ASK_NOBODY, read_pcie_tx },
	{ EGS_GPU_RECOVERY, ASK_GPU, read_recovery },
	{ EGS_GPU_PROCESSES, ASK_SLICE, read_process_count },
};

/* The first version counts what the driver reserves as used. */
static int read_memory(const struct egs_nvml *nvml, void *device,
		       struct egs_nvml_memory *memory)
{
	struct egs_nvml_memory_v2 v2 = { .version = EGS_NVML_MEMORY_V2 };

	*memory = (struct egs_nvml_memory){ .total = 0 };
	if (nvml->memory_v2 &&
	    nvml->memory_v2(device, &v2) == EGS_NVML_SUCCESS) {
		*memory =
			(struct egs_nvml_memory){ v2.total, v2.free, v2.used };
		return EGS_NVML_SUCCESS;
	}
	return nvml->memory ? nvml->memory(device, memory)
			    : EGS_NVML_NOT_SUPPORTED;
}

static int add_memory(const struct egs_nvml *nvml, void *device,
		      struct egs_gpu_sample *sample)
{
	struct egs_nvml_memory memory;
	int code = read_memory(nvml, device, &memory);

	if (code != EGS_NVML_SUCCESS || !memory.total ||
	    memory.used > memory.total)
		return code;
	egs_gpu_sample_set(sample, EGS_GPU_MEM_MB,
			   (int64_t)(memory.used >> MB_SHIFT),
			   EGS_GPU_SOURCE_NVML);
	egs_gpu_sample_set(sample, EGS_GPU_MEM_TOTAL_MB,
			   (int64_t)(memory.total >> MB_SHIFT),
			   EGS_GPU_SOURCE_NVML);
	return code;
}

int egs_nvml_values_add(const struct egs_nvml *nvml, void *device, void *slice,
			struct egs_gpu_sample *sample)
{
	int64_t value;

	for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
		void *asked = device;
		int code;

		if (slice && readers[i].of_slice == ASK_NOBODY)
			continue;
		if (slice && readers[i].of_slice == ASK_SLICE)
			asked = slice;
		code = readers[i].read(nvml, asked, &value);
		if (code == EGS_NVML_GPU_IS_LOST)
			return code;
		if (code == EGS_NVML_SUCCESS)
			egs_gpu_sample_set(sample, readers[i].metric, value,
					   EGS_GPU_SOURCE_NVML);
	}
	return add_memory(nvml, slice ? slice : device, sample) ==
			       EGS_NVML_GPU_IS_LOST
		       ? EGS_NVML_GPU_IS_LOST
		       : EGS_NVML_SUCCESS;
}
