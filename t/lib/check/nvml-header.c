/* nvml-header.c - noded/nvml_api.h and NVIDIA's nvml.h declare the same
 *
 * Compiles if they do.  Linters have no nvml.h.
 */
#include "noded/nvml_api.h"

#if __has_include(<nvml.h>)
#include <nvml.h>

#define SAME(ours, theirs) \
	_Static_assert((ours) == (theirs), #ours " is " #theirs)
#define SAME_SIZE(ours, theirs) SAME(sizeof(ours), sizeof(theirs))
#define SAME_FIELD(ours, field, theirs, their_field)                \
	SAME(offsetof(ours, field), offsetof(theirs, their_field)); \
	SAME_SIZE(((ours *)0)->field, ((theirs *)0)->their_field)

SAME(EGS_NVML_SUCCESS, NVML_SUCCESS);
SAME(EGS_NVML_NOT_SUPPORTED, NVML_ERROR_NOT_SUPPORTED);
SAME(EGS_NVML_INSUFFICIENT_SIZE, NVML_ERROR_INSUFFICIENT_SIZE);
SAME(EGS_NVML_DRIVER_NOT_LOADED, NVML_ERROR_DRIVER_NOT_LOADED);
SAME(EGS_NVML_TIMEOUT, NVML_ERROR_TIMEOUT);
SAME(EGS_NVML_GPU_IS_LOST, NVML_ERROR_GPU_IS_LOST);
SAME(EGS_NVML_TEMPERATURE_GPU, NVML_TEMPERATURE_GPU);
SAME(EGS_NVML_TEMPERATURE_SLOWDOWN, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN);
SAME(EGS_NVML_ECC_CORRECTED, NVML_MEMORY_ERROR_TYPE_CORRECTED);
SAME(EGS_NVML_ECC_UNCORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
SAME(EGS_NVML_ECC_VOLATILE, NVML_VOLATILE_ECC);
SAME(EGS_NVML_PCIE_TX, NVML_PCIE_UTIL_TX_BYTES);
SAME(EGS_NVML_PCIE_RX, NVML_PCIE_UTIL_RX_BYTES);
SAME(EGS_NVML_EVENT_XID, nvmlEventTypeXidCriticalError);
SAME(EGS_NVML_VERSION_SIZE, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE);
SAME(EGS_NVML_UUID_SIZE, NVML_DEVICE_UUID_V2_BUFFER_SIZE);
SAME(EGS_NVML_FIELD_NVLINK_TX, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX);
SAME(EGS_NVML_FIELD_NVLINK_RX, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX);
#ifdef NVML_FI_DEV_GET_GPU_RECOVERY_ACTION
SAME(EGS_NVML_FIELD_RECOVERY, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION);
#endif
SAME(EGS_NVML_TYPE_DOUBLE, NVML_VALUE_TYPE_DOUBLE);
SAME(EGS_NVML_TYPE_U32, NVML_VALUE_TYPE_UNSIGNED_INT);
SAME(EGS_NVML_TYPE_ULONG, NVML_VALUE_TYPE_UNSIGNED_LONG);
SAME(EGS_NVML_TYPE_U64, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG);
SAME(EGS_NVML_TYPE_S64, NVML_VALUE_TYPE_SIGNED_LONG_LONG);

SAME_SIZE(void *, nvmlDevice_t);
SAME_SIZE(void *, nvmlEventSet_t);
SAME_SIZE(int, nvmlReturn_t);

SAME_SIZE(struct egs_nvml_process, nvmlProcessInfo_t);
SAME_FIELD(struct egs_nvml_process, pid, nvmlProcessInfo_t, pid);
SAME_FIELD(struct egs_nvml_process, gpu_instance, nvmlProcessInfo_t,
	   gpuInstanceId);
SAME_SIZE(struct egs_nvml_utilization, nvmlUtilization_t);
SAME_FIELD(struct egs_nvml_utilization, gpu, nvmlUtilization_t, gpu);
SAME_SIZE(struct egs_nvml_memory, nvmlMemory_t);
SAME_FIELD(struct egs_nvml_memory, total, nvmlMemory_t, total);
SAME_FIELD(struct egs_nvml_memory, used, nvmlMemory_t, used);
SAME_SIZE(struct egs_nvml_memory_v2, nvmlMemory_v2_t);
SAME_FIELD(struct egs_nvml_memory_v2, total, nvmlMemory_v2_t, total);
SAME_FIELD(struct egs_nvml_memory_v2, used, nvmlMemory_v2_t, used);
SAME(EGS_NVML_MEMORY_V2, nvmlMemory_v2);

SAME_SIZE(struct egs_nvml_field, nvmlFieldValue_t);
SAME_FIELD(struct egs_nvml_field, id, nvmlFieldValue_t, fieldId);
SAME_FIELD(struct egs_nvml_field, scope, nvmlFieldValue_t, scopeId);
SAME_FIELD(struct egs_nvml_field, type, nvmlFieldValue_t, valueType);
SAME_FIELD(struct egs_nvml_field, code, nvmlFieldValue_t, nvmlReturn);
SAME_FIELD(struct egs_nvml_field, value, nvmlFieldValue_t, value);

SAME_SIZE(struct egs_nvml_event, nvmlEventData_t);
SAME_FIELD(struct egs_nvml_event, device, nvmlEventData_t, device);
SAME_FIELD(struct egs_nvml_event, type, nvmlEventData_t, eventType);
SAME_FIELD(struct egs_nvml_event, data, nvmlEventData_t, eventData);

SAME_SIZE(struct egs_nvml_accounting_stats, nvmlAccountingStats_t);
SAME_FIELD(struct egs_nvml_accounting_stats, gpu, nvmlAccountingStats_t,
	   gpuUtilization);
SAME_FIELD(struct egs_nvml_accounting_stats, max_memory, nvmlAccountingStats_t,
	   maxMemoryUsage);
SAME_FIELD(struct egs_nvml_accounting_stats, time_ms, nvmlAccountingStats_t,
	   time);
SAME_FIELD(struct egs_nvml_accounting_stats, start_us, nvmlAccountingStats_t,
	   startTime);
SAME_FIELD(struct egs_nvml_accounting_stats, is_running, nvmlAccountingStats_t,
	   isRunning);
SAME_SIZE(int, nvmlEnableState_t);

#ifdef NVML_GPM_METRICS_GET_VERSION
SAME(EGS_NVML_GPM_METRICS_VERSION, NVML_GPM_METRICS_GET_VERSION);
SAME(EGS_NVML_GPM_SUPPORT_VERSION, NVML_GPM_SUPPORT_VERSION);
SAME(EGS_NVML_GPM_SM, NVML_GPM_METRIC_SM_UTIL);
SAME(EGS_NVML_GPM_TENSOR, NVML_GPM_METRIC_ANY_TENSOR_UTIL);
SAME(EGS_NVML_GPM_DRAM, NVML_GPM_METRIC_DRAM_BW_UTIL);
SAME(EGS_NVML_GPM_PCIE_TX, NVML_GPM_METRIC_PCIE_TX_PER_SEC);
SAME(EGS_NVML_GPM_PCIE_RX, NVML_GPM_METRIC_PCIE_RX_PER_SEC);
SAME(EGS_NVML_GPM_NVLINK_RX, NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC);
SAME(EGS_NVML_GPM_NVLINK_TX, NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC);
SAME_SIZE(struct egs_nvml_gpm_metric, nvmlGpmMetric_t);
SAME_FIELD(struct egs_nvml_gpm_metric, id, nvmlGpmMetric_t, metricId);
SAME_FIELD(struct egs_nvml_gpm_metric, code, nvmlGpmMetric_t, nvmlReturn);
SAME_FIELD(struct egs_nvml_gpm_metric, value, nvmlGpmMetric_t, value);
SAME_FIELD(struct egs_nvml_gpm_metrics, before, nvmlGpmMetricsGet_t, sample1);
SAME_FIELD(struct egs_nvml_gpm_metrics, after, nvmlGpmMetricsGet_t, sample2);
SAME(offsetof(struct egs_nvml_gpm_metrics, metric),
     offsetof(nvmlGpmMetricsGet_t, metrics));
_Static_assert(sizeof(struct egs_nvml_gpm_metrics) >=
		       sizeof(nvmlGpmMetricsGet_t),
	       "there is room for all metrics");
SAME_SIZE(struct egs_nvml_gpm_support, nvmlGpmSupport_t);
#endif
#endif
