/* nvml_api.c - find the functions of libnvidia-ml.so.1 */
#include <dlfcn.h>
#include <string.h>

#include "common/base/array.h"
#include "noded/nvml_api.h"

#define DEVICE "nvmlDeviceGet"
#define SYMBOL(field, ...)                                    \
	{                                                     \
		offsetof(struct egs_nvml, field), __VA_ARGS__ \
	}

/* Symbols up to this one are in the library of each driver. */
enum { REQUIRED = 5 };

static const struct nvml_symbol {
	size_t offset;
	const char *name, *older_name;
} symbols[] = {
	SYMBOL(init, "nvmlInit_v2", NULL),
	SYMBOL(shutdown, "nvmlShutdown", NULL),
	SYMBOL(count, DEVICE "Count_v2", NULL),
	SYMBOL(handle, DEVICE "HandleByIndex_v2", NULL),
	SYMBOL(minor, DEVICE "MinorNumber", NULL),
	SYMBOL(processes, DEVICE "ComputeRunningProcesses_v3",
	       DEVICE "ComputeRunningProcesses_v2"),
	SYMBOL(driver_version, "nvmlSystemGetDriverVersion", NULL),
	SYMBOL(uuid, DEVICE "UUID", NULL),
	SYMBOL(utilization, DEVICE "UtilizationRates", NULL),
	SYMBOL(memory, DEVICE "MemoryInfo", NULL),
	SYMBOL(memory_v2, DEVICE "MemoryInfo_v2", NULL),
	SYMBOL(power, DEVICE "PowerUsage", NULL),
	SYMBOL(power_limit, DEVICE "EnforcedPowerLimit", NULL),
	SYMBOL(power_cap, DEVICE "PowerManagementLimit", NULL),
	SYMBOL(power_range, DEVICE "PowerManagementLimitConstraints", NULL),
	SYMBOL(set_power_cap, "nvmlDeviceSetPowerManagementLimit", NULL),
	SYMBOL(temperature, DEVICE "Temperature", NULL),
	SYMBOL(temperature_limit, DEVICE "TemperatureThreshold", NULL),
	SYMBOL(clock_reasons, DEVICE "CurrentClocksEventReasons",
	       DEVICE "CurrentClocksThrottleReasons"),
	SYMBOL(ecc, DEVICE "TotalEccErrors", NULL),
	SYMBOL(energy, DEVICE "TotalEnergyConsumption", NULL),
	SYMBOL(pcie, DEVICE "PcieThroughput", NULL),
	SYMBOL(fields, DEVICE "FieldValues", NULL),
	SYMBOL(event_set_create, "nvmlEventSetCreate", NULL),
	SYMBOL(event_set_free, "nvmlEventSetFree", NULL),
	SYMBOL(event_register, "nvmlDeviceRegisterEvents", NULL),
	SYMBOL(event_wait, "nvmlEventSetWait_v2", NULL),
	SYMBOL(accounting_mode, DEVICE "AccountingMode", NULL),
	SYMBOL(set_accounting_mode, "nvmlDeviceSetAccountingMode", NULL),
	SYMBOL(accounting_pids, DEVICE "AccountingPids", NULL),
	SYMBOL(accounting_stats, DEVICE "AccountingStats", NULL),
	SYMBOL(gpm_support, "nvmlGpmQueryDeviceSupport", NULL),
	SYMBOL(gpm_alloc, "nvmlGpmSampleAlloc", NULL),
	SYMBOL(gpm_free, "nvmlGpmSampleFree", NULL),
	SYMBOL(gpm_sample, "nvmlGpmSampleGet", NULL),
	SYMBOL(gpm_metrics, "nvmlGpmMetricsGet", NULL),
	SYMBOL(gpm_mig_sample, "nvmlGpmMigSampleGet", NULL),
	SYMBOL(mig_count, DEVICE "MaxMigDeviceCount", NULL),
	SYMBOL(mig_handle, DEVICE "MigDeviceHandleByIndex", NULL),
	SYMBOL(gpu_instance, DEVICE "GpuInstanceId", NULL),
	SYMBOL(compute_instance, DEVICE "ComputeInstanceId", NULL),
};

static void *find_symbol(void *library, const struct nvml_symbol *symbol)
{
	void *found = dlsym(library, symbol->name);

	return found || !symbol->older_name
		       ? found
		       : dlsym(library, symbol->older_name);
}

int egs_nvml_open(struct egs_nvml *nvml, const char *library,
		  struct egs_err *err)
{
	*nvml = (struct egs_nvml){ .library = dlopen(library, RTLD_NOW) };
	if (!nvml->library) {
		egs_errf(err, "%s", dlerror());
		return 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		void *found = find_symbol(nvml->library, &symbols[i]);

		if (!found && i < REQUIRED)
			return egs_errf(err, "%s has no %s()", library,
					symbols[i].name);
		memcpy((char *)nvml + symbols[i].offset, &found, sizeof(found));
	}
	return 0;
}

void egs_nvml_close(struct egs_nvml *nvml)
{
	if (nvml->library)
		dlclose(nvml->library);
	nvml->library = NULL;
}

void egs_nvml_each_symbol(const struct egs_nvml *nvml,
			  void (*fn)(const char *name, const char *older_name,
				     bool found))
{
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++)
		fn(symbols[i].name, symbols[i].older_name,
		   find_symbol(nvml->library, &symbols[i]) != NULL);
}
