/* nvml_api.h - the functions of libnvidia-ml.so.1 that egs-noded calls
 *
 * The library comes with NVIDIA's driver, so egs-noded opens it at run time and
 * declares here what it uses.  t/0230-nvml.t compares these declarations with
 * NVIDIA's nvml.h.  A function returns one of NVML's codes; a driver of another
 * age may lack a function, whose pointer is then NULL.
 *
 * The driver may hang or crash, so call it only in a child process.
 */
#ifndef EGS_NODED_NVML_API_H
#define EGS_NODED_NVML_API_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"

/* Codes of NVML. */
enum {
	EGS_NVML_SUCCESS = 0,
	EGS_NVML_NOT_SUPPORTED = 3,
	EGS_NVML_INSUFFICIENT_SIZE = 7,
	EGS_NVML_DRIVER_NOT_LOADED = 9,
	EGS_NVML_TIMEOUT = 10,
	EGS_NVML_GPU_IS_LOST = 15,
};

enum {
	EGS_NVML_TEMPERATURE_GPU = 0,
	EGS_NVML_TEMPERATURE_SLOWDOWN = 1, /* a limit */
	EGS_NVML_ECC_CORRECTED = 0,	   /* a kind of error */
	EGS_NVML_ECC_UNCORRECTED = 1,
	EGS_NVML_ECC_VOLATILE = 0, /* since the driver was loaded */
	EGS_NVML_PCIE_TX = 0,
	EGS_NVML_PCIE_RX = 1,
	EGS_NVML_EVENT_XID = 8,
	EGS_NVML_VERSION_SIZE = 80, /* of the text of a version */
	EGS_NVML_UUID_SIZE = 96,
};

/* Fields of nvmlDeviceGetFieldValues(). */
enum {
	EGS_NVML_FIELD_NVLINK_TX = 138, /* KiB since the driver was loaded */
	EGS_NVML_FIELD_NVLINK_RX = 139,
	EGS_NVML_FIELD_RECOVERY = 230,
};

/* Of an event or a process: no instance of a MIG GPU. */
#define EGS_NVML_NO_INSTANCE 0xffffffffU

/* Metrics of GPM; throughput is in MiB/s. */
enum {
	EGS_NVML_GPM_SM = 2,
	EGS_NVML_GPM_TENSOR = 5,
	EGS_NVML_GPM_DRAM = 10,
	EGS_NVML_GPM_PCIE_TX = 20,
	EGS_NVML_GPM_PCIE_RX = 21,
	EGS_NVML_GPM_NVLINK_RX = 60,
	EGS_NVML_GPM_NVLINK_TX = 61,
};

/* nvmlProcessInfo_t of version 2 and 3. */
struct egs_nvml_process {
	unsigned int pid;
	unsigned long long memory;
	unsigned int gpu_instance, compute_instance;
};

/* nvmlUtilization_t */
struct egs_nvml_utilization {
	unsigned int gpu, memory; /* % of the time */
};

/* nvmlMemory_t, in bytes; 'used' has what the driver reserves, too. */
struct egs_nvml_memory {
	unsigned long long total, free, used;
};

/* nvmlMemory_v2_t */
struct egs_nvml_memory_v2 {
	unsigned int version;
	unsigned long long total, reserved, free, used;
};
#define EGS_NVML_MEMORY_V2 \
	((unsigned int)(sizeof(struct egs_nvml_memory_v2) | (2U << 24U)))

/* nvmlFieldValue_t */
struct egs_nvml_field {
	unsigned int id, scope;
	long long timestamp, latency_us;
	unsigned int type; /* enum egs_nvml_type */
	int code;	   /* of this field alone */
	union {
		double real;
		unsigned int u32;
		unsigned long ulong;
		unsigned long long u64;
		long long s64;
	} value;
};

enum egs_nvml_type {
	EGS_NVML_TYPE_DOUBLE,
	EGS_NVML_TYPE_U32,
	EGS_NVML_TYPE_ULONG,
	EGS_NVML_TYPE_U64,
	EGS_NVML_TYPE_S64,
};

/* nvmlEventData_t */
struct egs_nvml_event {
	void *device;
	unsigned long long type, data; /* data: the XID */
	unsigned int gpu_instance, compute_instance;
};

/* nvmlAccountingStats_t; a value that is not known has all bits set. */
struct egs_nvml_accounting_stats {
	unsigned int gpu, memory; /* % of its time */
	unsigned long long max_memory, time_ms, start_us;
	unsigned int is_running, reserved[5];
};

/* nvmlGpmMetric_t */
struct egs_nvml_gpm_metric {
	unsigned int id;
	int code;
	double value;
	const char *short_name, *long_name, *unit;
};

/* nvmlGpmMetricsGet_t.  The array of NVIDIA's header grows with its age; the
 * driver uses the first 'count' entries.
 */
struct egs_nvml_gpm_metrics {
	unsigned int version, count;
	void *before, *after; /* samples */
	struct egs_nvml_gpm_metric metric[512];
};
#define EGS_NVML_GPM_METRICS_VERSION 1

/* nvmlGpmSupport_t */
struct egs_nvml_gpm_support {
	unsigned int version, is_supported;
};
#define EGS_NVML_GPM_SUPPORT_VERSION 1

struct egs_nvml {
	void *library;
	/* Each driver has these. */
	int (*init)(void);
	int (*shutdown)(void);
	int (*count)(unsigned int *count);
	int (*handle)(unsigned int index, void **device);
	int (*minor)(void *device, unsigned int *minor);
	/* Each of these may be NULL. */
	int (*processes)(void *device, unsigned int *count,
			 struct egs_nvml_process *list);
	int (*driver_version)(char *text, unsigned int size);
	int (*uuid)(void *device, char *text, unsigned int size);
	int (*utilization)(void *device, struct egs_nvml_utilization *rates);
	int (*memory)(void *device, struct egs_nvml_memory *memory);
	int (*memory_v2)(void *device, struct egs_nvml_memory_v2 *memory);
	int (*power)(void *device, unsigned int *milliwatts);
	int (*power_limit)(void *device, unsigned int *milliwatts);
	/* The limit that can be set, unlike the one that is enforced, in
	 * milliwatts; what may be set; set it.
	 */
	int (*power_cap)(void *device, unsigned int *milliwatts);
	int (*power_range)(void *device, unsigned int *min, unsigned int *max);
	int (*set_power_cap)(void *device, unsigned int milliwatts);
	int (*temperature)(void *device, int sensor, unsigned int *celsius);
	int (*temperature_limit)(void *device, int limit,
				 unsigned int *celsius);
	int (*clock_reasons)(void *device, unsigned long long *bits);
	int (*ecc)(void *device, int kind, int counter,
		   unsigned long long *errors);
	int (*energy)(void *device, unsigned long long *millijoules);
	int (*pcie)(void *device, int counter, unsigned int *kb);
	int (*fields)(void *device, int count, struct egs_nvml_field *fields);
	int (*event_set_create)(void **set);
	int (*event_set_free)(void *set);
	int (*event_register)(void *device, unsigned long long types,
			      void *set);
	int (*event_wait)(void *set, struct egs_nvml_event *event,
			  unsigned int timeout_ms);
	int (*accounting_mode)(void *device, int *mode);
	int (*set_accounting_mode)(void *device, int mode);
	int (*accounting_pids)(void *device, unsigned int *count,
			       unsigned int *pids);
	int (*accounting_stats)(void *device, unsigned int pid,
				struct egs_nvml_accounting_stats *stats);
	int (*gpm_support)(void *device, struct egs_nvml_gpm_support *support);
	int (*gpm_alloc)(void **sample);
	int (*gpm_free)(void *sample);
	int (*gpm_sample)(void *device, void *sample);
	int (*gpm_metrics)(struct egs_nvml_gpm_metrics *metrics);
	int (*gpm_mig_sample)(void *device, unsigned int gpu_instance,
			      void *sample);
	/* Slices of a MIG GPU.  'count' is the most that there can be. */
	int (*mig_count)(void *device, unsigned int *count);
	int (*mig_handle)(void *device, unsigned int index, void **slice);
	int (*gpu_instance)(void *slice, unsigned int *id);
	int (*compute_instance)(void *slice, unsigned int *id);
};

/* The name under which the driver installs the library. */
#define EGS_NVML_LIBRARY "libnvidia-ml.so.1"

/* Open the library and find its functions.  Returns 0; 1 with 'err' set if
 * there is no library; -1 with 'err' set if it lacks a function that each
 * driver has. egs_nvml_close() is allowed after each result.
 */
int egs_nvml_open(struct egs_nvml *nvml, const char *library,
		  struct egs_err *err);
void egs_nvml_close(struct egs_nvml *nvml);

/* Call 'fn' with each function: its names, the older one NULL without one, and
 * whether the library has it.  For tests.
 */
void egs_nvml_each_symbol(const struct egs_nvml *nvml,
			  void (*fn)(const char *name, const char *older_name,
				     bool found));

#endif
