/* nvml_session.c - measure the GPUs of this node with NVIDIA's driver */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "noded/nvml_session.h"

enum {
	MB_SHIFT = 20,
	/* A GPU that fails reports thousands of XIDs. */
	EVENTS_MAX = 1000,
	/* Rows of the driver; the length is all that is used of them. */
	PROCESSES_MAX = 4096,
	/* Most energy of a GPU in a millisecond: 100 kW. */
	ENERGY_MAX_MJ = 100000,
};

/* NVML: a value of the whole device. */
#define ALL_LINKS UINT32_MAX

/* ---- values that one call returns ---- */

/* A reader returns a code of NVML and, with EGS_NVML_SUCCESS, a value. */
typedef int value_reader(const struct egs_nvml *nvml, void *device,
			 int64_t *value);

static int read_sm(const struct egs_nvml *nvml, void *device, int64_t *value)
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

/* Read one field; drivers differ in the type of its value. */
static int read_field(const struct egs_nvml *nvml, void *device,
		      unsigned int id, unsigned int scope, int64_t *value)
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
	return read_field(nvml, device, EGS_NVML_FIELD_RECOVERY, 0, value);
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

static const struct {
	enum egs_gpu_metric metric;
	value_reader *read;
} readers[] = {
	{ EGS_GPU_SM, read_sm },
	{ EGS_GPU_POWER_MW, read_power },
	{ EGS_GPU_POWER_LIMIT_MW, read_power_limit },
	{ EGS_GPU_TEMP_C, read_temperature },
	{ EGS_GPU_TEMP_LIMIT_C, read_temperature_limit },
	{ EGS_GPU_CLOCK_REASONS, read_clock_reasons },
	{ EGS_GPU_ECC, read_ecc_uncorrected },
	{ EGS_GPU_ECC_CORRECTED, read_ecc_corrected },
	{ EGS_GPU_PCIE_RX_KB, read_pcie_rx },
	{ EGS_GPU_PCIE_TX_KB, read_pcie_tx },
	{ EGS_GPU_RECOVERY, read_recovery },
	{ EGS_GPU_PROCESSES, read_process_count },
};

/* ---- other values ---- */

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

/* The counter begins again when the driver does.  A step backwards, or one that
 * no GPU can take, adds nothing.
 */
static int add_energy(const struct egs_nvml *nvml, struct egs_nvml_gpu *gpu,
		      struct egs_gpu_sample *sample, uint64_t now_ms)
{
	uint64_t most_mj = (now_ms - gpu->energy_ms + 1000) * ENERGY_MAX_MJ;
	unsigned long long now_mj = 0;
	int code = nvml->energy ? nvml->energy(gpu->device, &now_mj)
				: EGS_NVML_NOT_SUPPORTED;

	if (code != EGS_NVML_SUCCESS)
		return code;
	if (now_mj > gpu->energy_mj && now_mj - gpu->energy_mj <= most_mj)
		gpu->energy_sum_mj += now_mj - gpu->energy_mj;
	gpu->energy_mj = now_mj;
	gpu->energy_ms = now_ms;
	egs_gpu_sample_set(sample, EGS_GPU_ENERGY_J,
			   (int64_t)(gpu->energy_sum_mj / 1000),
			   EGS_GPU_SOURCE_NVML);
	return code;
}

static void add_rate(struct egs_gpu_sample *sample, enum egs_gpu_metric metric,
		     uint64_t before, uint64_t after, uint64_t ms)
{
	if (ms && after >= before)
		egs_gpu_sample_set(sample, metric,
				   (int64_t)((after - before) * 1000 / ms),
				   EGS_GPU_SOURCE_NVML);
}

/* Counters become rates; after a step backwards there is no rate. */
static int add_nvlink(const struct egs_nvml *nvml, struct egs_nvml_gpu *gpu,
		      struct egs_gpu_sample *sample, uint64_t now_ms)
{
	int64_t rx = 0, tx = 0;
	int code = read_field(nvml, gpu->device, EGS_NVML_FIELD_NVLINK_RX,
			      ALL_LINKS, &rx);

	if (code == EGS_NVML_SUCCESS)
		code = read_field(nvml, gpu->device, EGS_NVML_FIELD_NVLINK_TX,
				  ALL_LINKS, &tx);
	if (code != EGS_NVML_SUCCESS) {
		gpu->nvlink_ms = 0;
		return code;
	}
	if (gpu->nvlink_ms) {
		add_rate(sample, EGS_GPU_NVLINK_RX_KB, gpu->nvlink_kb[0],
			 (uint64_t)rx, now_ms - gpu->nvlink_ms);
		add_rate(sample, EGS_GPU_NVLINK_TX_KB, gpu->nvlink_kb[1],
			 (uint64_t)tx, now_ms - gpu->nvlink_ms);
	}
	gpu->nvlink_kb[0] = (uint64_t)rx;
	gpu->nvlink_kb[1] = (uint64_t)tx;
	gpu->nvlink_ms = now_ms;
	return code;
}

/* ---- GPM: counters of the whole time between two samples ---- */

static const struct {
	unsigned int id;
	enum egs_gpu_metric metric;
	double factor; /* from NVML's unit to that of the metric */
} gpm[] = {
	{ EGS_NVML_GPM_SM, EGS_GPU_SM, 1 },
	{ EGS_NVML_GPM_TENSOR, EGS_GPU_TENSOR, 1 },
	{ EGS_NVML_GPM_DRAM, EGS_GPU_DRAM, 1 },
	{ EGS_NVML_GPM_PCIE_RX, EGS_GPU_PCIE_RX_KB, 1024 },
	{ EGS_NVML_GPM_PCIE_TX, EGS_GPU_PCIE_TX_KB, 1024 },
	{ EGS_NVML_GPM_NVLINK_RX, EGS_GPU_NVLINK_RX_KB, 1024 },
	{ EGS_NVML_GPM_NVLINK_TX, EGS_GPU_NVLINK_TX_KB, 1024 },
};

static void open_gpm(const struct egs_nvml *nvml, struct egs_nvml_gpu *gpu)
{
	struct egs_nvml_gpm_support support = {
		.version = EGS_NVML_GPM_SUPPORT_VERSION
	};

	if (!nvml->gpm_support || !nvml->gpm_alloc || !nvml->gpm_sample ||
	    !nvml->gpm_metrics ||
	    nvml->gpm_support(gpu->device, &support) != EGS_NVML_SUCCESS ||
	    !support.is_supported)
		return;
	if (nvml->gpm_alloc(&gpu->gpm_before) != EGS_NVML_SUCCESS ||
	    nvml->gpm_alloc(&gpu->gpm_after) != EGS_NVML_SUCCESS)
		gpu->gpm_before = NULL;
}

static void add_gpm_value(struct egs_gpu_sample *sample, size_t i, double value)
{
	value *= gpm[i].factor;
	if (value >= 0 && value < 1e15) /* false for NaN */
		egs_gpu_sample_set(sample, gpm[i].metric,
				   (int64_t)(value + 0.5), EGS_GPU_SOURCE_GPM);
}

static void add_gpm(const struct egs_nvml *nvml, struct egs_nvml_gpu *gpu,
		    struct egs_gpu_sample *sample)
{
	static struct egs_nvml_gpm_metrics metrics;
	void *after = gpu->gpm_after;
	bool has_before = gpu->has_gpm_before;

	if (!gpu->gpm_before)
		return;
	gpu->has_gpm_before =
		nvml->gpm_sample(gpu->device, after) == EGS_NVML_SUCCESS;
	metrics.version = EGS_NVML_GPM_METRICS_VERSION;
	metrics.count = ARRAY_SIZE(gpm);
	metrics.before = gpu->gpm_before;
	metrics.after = after;
	for (size_t i = 0; i < ARRAY_SIZE(gpm); i++)
		metrics.metric[i] =
			(struct egs_nvml_gpm_metric){ .id = gpm[i].id };
	if (has_before && gpu->has_gpm_before &&
	    nvml->gpm_metrics(&metrics) == EGS_NVML_SUCCESS)
		for (size_t i = 0; i < ARRAY_SIZE(gpm); i++)
			if (metrics.metric[i].code == EGS_NVML_SUCCESS)
				add_gpm_value(sample, i,
					      metrics.metric[i].value);
	gpu->gpm_after = gpu->gpm_before;
	gpu->gpm_before = after;
}

/* ---- a sample ---- */

/* Seconds since the metric was last more than 0; absent without the metric. */
static void add_seconds_since(struct egs_gpu_sample *sample,
			      enum egs_gpu_metric of,
			      enum egs_gpu_metric metric, uint64_t *since_ms,
			      uint64_t now_ms)
{
	if (!egs_gpu_sample_has(sample, of) || sample->value[of].value > 0)
		*since_ms = now_ms;
	if (egs_gpu_sample_has(sample, of))
		egs_gpu_sample_set(sample, metric,
				   (int64_t)((now_ms - *since_ms) / 1000),
				   EGS_GPU_SOURCE_NODED);
}

static void add_xids(const struct egs_nvml_gpu *gpu, bool has_events,
		     struct egs_gpu_sample *sample)
{
	if (has_events)
		egs_gpu_sample_set(sample, EGS_GPU_XIDS, gpu->xids,
				   EGS_GPU_SOURCE_NVML);
	if (gpu->xids)
		egs_gpu_sample_set(sample, EGS_GPU_XID, gpu->last_xid,
				   EGS_GPU_SOURCE_NVML);
	sample->nxids = gpu->nxids;
	for (uint32_t i = 0; i < gpu->nxids; i++) {
		sample->xid[i] = gpu->xid[i];
		sample->xid[i].age_s =
			(uint32_t)((egs_now_ms() - gpu->xid_ms[i]) / 1000);
	}
}

/* Returns false if the driver cannot reach the GPU. */
static bool measure_gpu(const struct egs_nvml *nvml, struct egs_nvml_gpu *gpu,
			struct egs_gpu_sample *sample, uint64_t now_ms)
{
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
		int64_t value = 0;
		int code = readers[i].read(nvml, gpu->device, &value);

		if (code == EGS_NVML_GPU_IS_LOST)
			return false;
		if (code == EGS_NVML_SUCCESS)
			egs_gpu_sample_set(sample, readers[i].metric, value,
					   EGS_GPU_SOURCE_NVML);
	}
	if (add_memory(nvml, gpu->device, sample) == EGS_NVML_GPU_IS_LOST ||
	    add_energy(nvml, gpu, sample, now_ms) == EGS_NVML_GPU_IS_LOST ||
	    add_nvlink(nvml, gpu, sample, now_ms) == EGS_NVML_GPU_IS_LOST)
		return false;
	add_gpm(nvml, gpu, sample);
	add_seconds_since(sample, EGS_GPU_PROCESSES, EGS_GPU_EMPTY_S,
			  &gpu->has_process_ms, now_ms);
	add_seconds_since(sample, EGS_GPU_SM, EGS_GPU_IDLE_S, &gpu->is_busy_ms,
			  now_ms);
	return true;
}

void egs_nvml_session_sample(struct egs_nvml_session *session,
			     struct egs_gpu_sample *samples)
{
	for (uint32_t i = 0; i < session->n; i++) {
		struct egs_nvml_gpu *gpu = &session->gpu[i];

		samples[i] = (struct egs_gpu_sample){
			.gpu = i,
			.state = gpu->device ? EGS_GPU_OK : EGS_GPU_MISSING
		};
		if (gpu->device && !measure_gpu(&session->nvml, gpu,
						&samples[i], egs_now_ms()))
			samples[i] = (struct egs_gpu_sample){
				.gpu = i, .state = EGS_GPU_LOST
			};
		memcpy(samples[i].uuid, gpu->uuid, sizeof(gpu->uuid));
		memcpy(samples[i].device, gpu->index, sizeof(gpu->index));
		add_xids(gpu, gpu->device && session->events, &samples[i]);
	}
}

/* ---- XIDs ---- */

static void register_events(struct egs_nvml_session *session, void *device)
{
	const struct egs_nvml *nvml = &session->nvml;

	if (!nvml->event_set_create || !nvml->event_register ||
	    !nvml->event_wait)
		return;
	if (!session->events &&
	    nvml->event_set_create(&session->events) != EGS_NVML_SUCCESS)
		session->events = NULL;
	if (session->events)
		nvml->event_register(device, EGS_NVML_EVENT_XID,
				     session->events);
}

/* A GPU that fails reports thousands, but of few numbers. */
static void count_xid(struct egs_nvml_gpu *gpu, uint32_t number)
{
	uint32_t i = 0;

	gpu->last_xid = number;
	gpu->xids += gpu->xids < UINT32_MAX;
	while (i < gpu->nxids && gpu->xid[i].number != number)
		i++;
	if (i == EGS_GPU_XID_NUMBERS_MAX)
		return;
	if (i == gpu->nxids)
		gpu->xid[gpu->nxids++] =
			(struct egs_gpu_xid){ .number = number };
	gpu->xid[i].count += gpu->xid[i].count < UINT32_MAX;
	gpu->xid_ms[i] = egs_now_ms();
}

static void count_event(struct egs_nvml_session *session,
			const struct egs_nvml_event *event)
{
	uint32_t number = event->data < UINT32_MAX ? (uint32_t)event->data
						   : UINT32_MAX;

	for (uint32_t i = 0; i < session->n; i++)
		if (session->gpu[i].device &&
		    session->gpu[i].device == event->device &&
		    event->type & EGS_NVML_EVENT_XID)
			count_xid(&session->gpu[i], number);
}

void egs_nvml_session_wait(struct egs_nvml_session *session, uint64_t ms)
{
	uint64_t now = egs_now_ms(), end = now + ms;
	struct egs_nvml_event event;

	for (int i = 0; session->events && i < EVENTS_MAX && now < end; i++) {
		memset(&event, 0, sizeof(event));
		if (session->nvml.event_wait(session->events, &event,
					     (unsigned int)(end - now)) !=
		    EGS_NVML_SUCCESS)
			break;
		count_event(session, &event);
		now = egs_now_ms();
	}
	now = egs_now_ms();
	if (now < end)
		poll(NULL, 0, (int)(end - now));
}

/* ---- open and close ---- */

static int describe_code(const char *name, int code, struct egs_err *err)
{
	if (code == EGS_NVML_DRIVER_NOT_LOADED)
		return egs_errf(err, "NVIDIA's driver is not loaded");
	return egs_errf(err, "NVIDIA's driver: %s() returns %d", name, code);
}

/* A text that is longer than a UUID is none. */
static void read_uuid(const struct egs_nvml *nvml, struct egs_nvml_gpu *gpu)
{
	char text[EGS_NVML_UUID_SIZE + 1] = "";

	if (nvml->uuid &&
	    nvml->uuid(gpu->device, text, EGS_NVML_UUID_SIZE) ==
		    EGS_NVML_SUCCESS &&
	    strlen(text) < sizeof(gpu->uuid))
		memcpy(gpu->uuid, text, strlen(text) + 1);
}

static void add_device(struct egs_nvml_session *session, unsigned int index,
		       const struct egs_node_gpus *gpus)
{
	unsigned int minor = 0;
	void *device = NULL;
	int gpu;

	if (session->nvml.handle(index, &device) != EGS_NVML_SUCCESS ||
	    session->nvml.minor(device, &minor) != EGS_NVML_SUCCESS)
		return;
	gpu = egs_node_gpus_find(gpus, minor);
	if (gpu < 0)
		return;
	session->gpu[gpu] = (struct egs_nvml_gpu){
		.device = device,
		.has_process_ms = egs_now_ms(),
		.is_busy_ms = egs_now_ms(),
		.energy_mj = UINT64_MAX,
	};
	snprintf(session->gpu[gpu].index, sizeof(session->gpu[gpu].index), "%u",
		 index);
	read_uuid(&session->nvml, &session->gpu[gpu]);
	register_events(session, device);
	open_gpm(&session->nvml, &session->gpu[gpu]);
}

/* A library may leave the text without its end. */
static void read_driver_version(struct egs_nvml_session *session)
{
	const struct egs_nvml *nvml = &session->nvml;

	if (!nvml->driver_version ||
	    nvml->driver_version(session->driver, sizeof(session->driver)) !=
		    EGS_NVML_SUCCESS)
		snprintf(session->driver, sizeof(session->driver), "unknown");
	session->driver[sizeof(session->driver) - 1] = '\0';
}

int egs_nvml_session_open(struct egs_nvml_session *session, const char *library,
			  const struct egs_node_gpus *gpus, struct egs_err *err)
{
	unsigned int count = 0;
	int code;

	*session = (struct egs_nvml_session){ .n = gpus->n };
	if (egs_nvml_open(&session->nvml, library, err) != 0)
		return -1;
	code = session->nvml.init();
	if (code != EGS_NVML_SUCCESS)
		return describe_code("nvmlInit", code, err);
	session->initialized = true;
	code = session->nvml.count(&count);
	if (code != EGS_NVML_SUCCESS)
		return describe_code("nvmlDeviceGetCount", code, err);
	read_driver_version(session);
	snprintf(session->name, sizeof(session->name), "%" PRIx64,
		 egs_now_us());
	for (unsigned int i = 0; i < count && i < EGS_NODE_GPUS_MAX; i++)
		add_device(session, i, gpus);
	return 0;
}

static void close_gpm(const struct egs_nvml *nvml, struct egs_nvml_gpu *gpu)
{
	if (!nvml->gpm_free)
		return;
	if (gpu->gpm_before)
		nvml->gpm_free(gpu->gpm_before);
	if (gpu->gpm_after)
		nvml->gpm_free(gpu->gpm_after);
}

void egs_nvml_session_close(struct egs_nvml_session *session)
{
	for (uint32_t i = 0; i < session->n; i++)
		close_gpm(&session->nvml, &session->gpu[i]);
	if (session->events && session->nvml.event_set_free)
		session->nvml.event_set_free(session->events);
	if (session->initialized)
		session->nvml.shutdown();
	egs_nvml_close(&session->nvml);
	session->n = 0;
}
