/* nvml.c - stand-in for libnvidia-ml.so.1 that reads its answers from a file
 *
 * nvml_script.h has the lines of the file.
 */
#include "t/lib/fake/nvml_script.h"

/* ---- NVML ---- */

/* Only the library's user declares these functions. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC visibility push(default)

int nvmlInit_v2(void)
{
	if (has_word("all", "hung"))
		hang_forever();
	return getenv("EGS_NVML") && !has_word("all", "unloaded")
		       ? 0
		       : EGS_NVML_DRIVER_NOT_LOADED;
}

int nvmlShutdown(void)
{
	return 0;
}

int nvmlSystemGetDriverVersion(char *text, unsigned int size)
{
	snprintf(text, size, "555.42");
	return 0;
}

int nvmlDeviceGetCount_v2(unsigned int *count)
{
	*count = GPUS;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device)
{
	*device = &devices[index];
	return 0;
}

int nvmlDeviceGetMinorNumber(void *device, unsigned int *minor)
{
	const struct device *d = device;

	*minor = (unsigned int)d->minor;
	return d->gi < 0 ? 0 : EGS_NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *count,
					    struct egs_nvml_process *list)
{
	FILE *f = open_script();
	unsigned int max = *count;
	struct script_line line;

	*count = 0;
	while (read_line(f, &line))
		if (is_of(&line, device) &&
		    strspn(line.word, "0123456789") == strlen(line.word) &&
		    *count < max)
			list[(*count)++] = (struct egs_nvml_process){
				.pid = (unsigned int)atoi(line.word)
			};
	if (f)
		fclose(f);
	return 0;
}

/* NVIDIA's driver has no utilisation of a slice, or of a GPU with slices. */
int nvmlDeviceGetUtilizationRates(void *device,
				  struct egs_nvml_utilization *rates)
{
	const struct device *d = device;

	rates->memory = 0;
	return d->gi < 0 && !has_word(d->name, "mig")
		       ? get_u32(device, "sm", &rates->gpu)
		       : EGS_NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetMemoryInfo(void *device, struct egs_nvml_memory *memory)
{
	int code;

	*memory = (struct egs_nvml_memory){ .total = 0 };
	code = get_value(device, "memtotal", &memory->total);
	if (code == 0)
		code = get_value(device, "mem", &memory->used);
	memory->total <<= 20U;
	memory->used <<= 20U;
	memory->free = memory->total - memory->used;
	return code;
}

int nvmlDeviceGetMemoryInfo_v2(void *device, struct egs_nvml_memory_v2 *memory)
{
	struct egs_nvml_memory first = { .total = 0 };
	int code = nvmlDeviceGetMemoryInfo(device, &first);

	if (memory->version != EGS_NVML_MEMORY_V2)
		return UNKNOWN;
	memory->total = first.total;
	memory->used = first.used;
	memory->free = first.free;
	memory->reserved = 0;
	return code;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned int *milliwatts)
{
	return get_u32(device, "power", milliwatts);
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned int *celsius)
{
	return sensor == EGS_NVML_TEMPERATURE_GPU
		       ? get_u32(device, "temp", celsius)
		       : UNKNOWN;
}

/* The limits that were set outlive the process, as a driver's do. */
static void format_limit_path(const void *device, char path[256])
{
	const struct device *d = device;

	snprintf(path, 256, "%s.limit.%d", getenv("EGS_NVML"), d->minor);
}

int nvmlDeviceGetPowerManagementLimit(void *device, unsigned int *milliwatts)
{
	int code = get_u32(device, "powerlimit", milliwatts);
	char path[256];
	FILE *f;

	format_limit_path(device, path);
	f = fopen(path, "re");
	if (f && fscanf(f, "%u", milliwatts) != 1)
		code = UNKNOWN;
	if (f)
		fclose(f);
	return code;
}

int nvmlDeviceGetPowerManagementLimitConstraints(void *device,
						 unsigned int *min,
						 unsigned int *max)
{
	int code = get_u32(device, "powermin", min);

	return code == 0 ? get_u32(device, "powermax", max) : code;
}

int nvmlDeviceSetPowerManagementLimit(void *device, unsigned int milliwatts)
{
	const struct device *d = device;
	unsigned int min = 0, max = 0;
	char path[256];
	FILE *f;

	if (has_word(d->name, "nocap"))
		return NO_PERMISSION;
	if (nvmlDeviceGetPowerManagementLimitConstraints(device, &min, &max) ||
	    milliwatts < min || milliwatts > max)
		return INVALID_ARGUMENT;
	format_limit_path(device, path);
	f = fopen(path, "we");
	if (!f)
		return UNKNOWN;
	fprintf(f, "%u", milliwatts);
	return fclose(f) == 0 ? 0 : UNKNOWN;
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned int *milliwatts)
{
	return nvmlDeviceGetPowerManagementLimit(device, milliwatts);
}

int nvmlDeviceGetTemperatureThreshold(void *device, int limit,
				      unsigned int *celsius)
{
	return limit == EGS_NVML_TEMPERATURE_SLOWDOWN
		       ? get_u32(device, "templimit", celsius)
		       : UNKNOWN;
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned int size)
{
	const struct device *d = device;

	if (d->gi < 0)
		snprintf(text, size,
			 "GPU-5c5e0000-0000-0000-0000-00000000000%d", d->minor);
	else
		snprintf(text, size,
			 "MIG-5c5e0000-0000-0000-0000-000000000%d%d%d",
			 d->minor, d->gi, d->ci);
	return 0;
}

int nvmlDeviceGetCurrentClocksEventReasons(void *device,
					   unsigned long long *bits)
{
	return get_value(device, "reasons", bits);
}

int nvmlDeviceGetTotalEccErrors(void *device, int kind, int counter,
				unsigned long long *errors)
{
	return counter == EGS_NVML_ECC_VOLATILE
		       ? get_value(device,
				   kind == EGS_NVML_ECC_UNCORRECTED ? "ecc"
								    : "eccc",
				   errors)
		       : UNKNOWN;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device,
					unsigned long long *millijoules)
{
	return get_counter(device, "energy", millijoules);
}

int nvmlDeviceGetPcieThroughput(void *device, int counter, unsigned int *kb)
{
	return get_u32(device,
		       counter == EGS_NVML_PCIE_RX ? "pcierx" : "pcietx", kb);
}

int nvmlDeviceGetFieldValues(void *device, int count,
			     struct egs_nvml_field *fields)
{
	for (int i = 0; i < count; i++) {
		bool recovery = fields[i].id == EGS_NVML_FIELD_RECOVERY;

		fields[i].type =
			recovery ? EGS_NVML_TYPE_U32 : EGS_NVML_TYPE_U64;
		fields[i].code = recovery ? get_u32(device, "recovery",
						    &fields[i].value.u32)
					  : get_counter(device, "nvlink",
							&fields[i].value.u64);
	}
	return 0;
}

/* ---- accounting mode ---- */

int nvmlDeviceGetAccountingMode(void *device, int *mode)
{
	(void)device;
	*mode = 0;
	return 0;
}

int nvmlDeviceSetAccountingMode(void *device, int mode)
{
	const struct device *d = device;

	return mode == 1 && !has_word(d->name, "noaccounting") ? 0 : UNKNOWN;
}

/* Read the next line of an ended process. */
static bool read_ended(FILE *f, const void *device, unsigned int *pid,
		       struct egs_nvml_accounting_stats *stats)
{
	struct script_line line;
	unsigned long long mb, start_s = 0;

	while (read_line(f, &line))
		if (is_of(&line, device) && strcmp(line.word, "ended") == 0 &&
		    sscanf(line.value, "%u:%u:%llu:%llu:%llu", pid, &stats->gpu,
			   &mb, &stats->time_ms, &start_s) >= 4) {
			stats->max_memory = mb << 20U;
			stats->start_us = start_s * 1000000;
			return true;
		}
	return false;
}

int nvmlDeviceGetAccountingPids(void *device, unsigned int *count,
				unsigned int *pids)
{
	struct egs_nvml_accounting_stats stats;
	unsigned int max = *count;
	FILE *f = open_script();

	*count = 0;
	while (f && *count < max &&
	       read_ended(f, device, &pids[*count], &stats))
		++*count;
	if (f)
		fclose(f);
	return 0;
}

int nvmlDeviceGetAccountingStats(void *device, unsigned int pid,
				 struct egs_nvml_accounting_stats *stats)
{
	FILE *f = open_script();
	unsigned int found = 0;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	while (f && found != pid && read_ended(f, device, &found, stats))
		;
	if (f)
		fclose(f);
	if (found != pid)
		return NOT_FOUND;
	stats->is_running = 0;
	if (!stats->start_us)
		stats->start_us = (unsigned long long)now.tv_sec * 1000000 -
				  stats->time_ms * 1000;
	return 0;
}

/* ---- slices ---- */

int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned int *count)
{
	(void)device;
	*count = SLICES_MAX;
	return 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned int index,
					void **slice)
{
	const struct device *d = device;
	struct device *s = &slices[d->minor][index];
	struct script_line line;
	FILE *f = open_script();
	bool found = false;

	while (!found && read_line(f, &line))
		found = is_of(&line, device) && strcmp(line.word, "mig") == 0 &&
			index-- == 0;
	if (f)
		fclose(f);
	if (!found)
		return NOT_FOUND;
	s->minor = d->minor;
	sscanf(line.value, "%d.%d", &s->gi, &s->ci);
	snprintf(s->name, sizeof(s->name), "%d.%d", s->minor, s->gi);
	*slice = s;
	return 0;
}

int nvmlDeviceGetGpuInstanceId(void *slice, unsigned int *id)
{
	const struct device *d = slice;

	*id = (unsigned int)d->gi;
	return d->gi < 0 ? EGS_NVML_NOT_SUPPORTED : 0;
}

int nvmlDeviceGetComputeInstanceId(void *slice, unsigned int *id)
{
	const struct device *d = slice;

	*id = (unsigned int)d->ci;
	return d->gi < 0 ? EGS_NVML_NOT_SUPPORTED : 0;
}

/* ---- events ---- */

static size_t delivered; /* lines with "xid" */

int nvmlEventSetCreate(void **set)
{
	*set = &delivered;
	delivered = 0;
	return 0;
}

int nvmlEventSetFree(void *set)
{
	(void)set;
	return 0;
}

int nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set)
{
	(void)device;
	(void)set;
	return types == EGS_NVML_EVENT_XID ? 0 : UNKNOWN;
}

/* Each line is delivered once, in order. */
static bool find_event(struct egs_nvml_event *event)
{
	struct script_line line;
	FILE *f = open_script();
	size_t n = 0;
	bool found = false;

	while (!found && read_line(f, &line))
		found = strcmp(line.word, "xid") == 0 && n++ == delivered;
	if (f)
		fclose(f);
	if (!found)
		return false;
	delivered++;
	event->type = EGS_NVML_EVENT_XID;
	event->data = strtoull(line.value, NULL, 10);
	event->gpu_instance = EGS_NVML_NO_INSTANCE;
	if (strchr(line.gpu, '.'))
		event->gpu_instance =
			(unsigned int)atoi(strchr(line.gpu, '.') + 1);
	for (int i = 0; i < GPUS; i++)
		if (devices[i].minor == atoi(line.gpu))
			event->device = &devices[i];
	return true;
}

int nvmlEventSetWait_v2(void *set, struct egs_nvml_event *event,
			unsigned int timeout_ms)
{
	(void)set;
	if (find_event(event))
		return 0;
	poll(NULL, 0, (int)timeout_ms);
	return EGS_NVML_TIMEOUT;
}

/* ---- GPM ---- */

int nvmlGpmQueryDeviceSupport(void *device,
			      struct egs_nvml_gpm_support *support)
{
	char value[64];

	support->is_supported = look_up(device, "gpm", value) == 0;
	return support->version == EGS_NVML_GPM_SUPPORT_VERSION ? 0 : UNKNOWN;
}

int nvmlGpmSampleAlloc(void **sample)
{
	*sample = calloc(1, sizeof(void *));
	return *sample ? 0 : UNKNOWN;
}

int nvmlGpmSampleFree(void *sample)
{
	free(sample);
	return 0;
}

int nvmlGpmSampleGet(void *device, void *sample)
{
	*(void **)sample = device;
	return 0;
}

int nvmlGpmMigSampleGet(void *device, unsigned int gpu_instance, void *sample)
{
	const struct device *d = device;

	for (int i = 0; i < SLICES_MAX; i++)
		if (slices[d->minor][i].gi == (int)gpu_instance &&
		    *slices[d->minor][i].name) {
			*(void **)sample = &slices[d->minor][i];
			return 0;
		}
	return NOT_FOUND;
}

/* "tensor" and "dram" have values of their own if there is one. */
static int get_gpm_value(const void *device, unsigned int id, double *value)
{
	const char *key = id == EGS_NVML_GPM_TENSOR ? "tensor"
			  : id == EGS_NVML_GPM_DRAM ? "dram"
						    : "gpm";
	char text[64];
	int code = look_up(device, key, text);

	if (code == EGS_NVML_NOT_SUPPORTED)
		code = look_up(device, "gpm", text);
	*value = strtod(text, NULL);
	return code;
}

/* SMs have the value of "gpm", which may be "nan"; links the same in MiB/s. */
int nvmlGpmMetricsGet(struct egs_nvml_gpm_metrics *metrics)
{
	for (unsigned int i = 0; i < metrics->count; i++)
		metrics->metric[i].code = get_gpm_value(
			*(void **)metrics->after, metrics->metric[i].id,
			&metrics->metric[i].value);
	return metrics->version == EGS_NVML_GPM_METRICS_VERSION &&
			       *(void **)metrics->before
		       ? 0
		       : UNKNOWN;
}
