/* nvml_session.c - measure the GPUs of this node with NVIDIA's driver */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "noded/nvml_session.h"
#include "noded/nvml_values.h"

enum {
	/* A GPU that fails reports thousands of XIDs. */
	EVENTS_MAX = 1000,
	XID_MAX = 65535,
	/* Most energy of a GPU in a millisecond: 100 kW. */
	ENERGY_MAX_MJ = 100000,
};

/* NVML: a value of the whole device. */
#define ALL_LINKS UINT32_MAX

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
	int code = egs_nvml_values_read_field(
		nvml, gpu->device, EGS_NVML_FIELD_NVLINK_RX, ALL_LINKS, &rx);

	if (code == EGS_NVML_SUCCESS)
		code = egs_nvml_values_read_field(nvml, gpu->device,
						  EGS_NVML_FIELD_NVLINK_TX,
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

/* ---- a sample ---- */

/* Seconds since the GPU was last in use, by the metric 'of'; absent without
 * that metric.
 */
static void add_seconds_since(struct egs_gpu_sample *sample,
			      enum egs_gpu_metric of, bool in_use,
			      enum egs_gpu_metric metric, uint64_t *since_ms,
			      uint64_t now_ms)
{
	if (!egs_gpu_sample_has(sample, of) || in_use)
		*since_ms = now_ms;
	if (egs_gpu_sample_has(sample, of))
		egs_gpu_sample_set(sample, metric,
				   (int64_t)((now_ms - *since_ms) / 1000),
				   EGS_GPU_SOURCE_NODED);
}

/* The driver does not list processes that only render.  So a GPU whose SMs are
 * busy is not empty.
 */
static void add_quiet_seconds(struct egs_nvml_gpu *gpu,
			      struct egs_gpu_sample *sample, uint64_t now_ms)
{
	bool is_busy = sample->value[EGS_GPU_SM].value > 0;
	bool has_process = sample->value[EGS_GPU_PROCESSES].value > 0;

	add_seconds_since(sample, EGS_GPU_PROCESSES, has_process || is_busy,
			  EGS_GPU_EMPTY_S, &gpu->has_process_ms, now_ms);
	add_seconds_since(sample, EGS_GPU_SM, is_busy, EGS_GPU_IDLE_S,
			  &gpu->is_busy_ms, now_ms);
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
		sample->xid[i].age_ms = egs_now_ms() - gpu->xid_ms[i];
	}
}

/* Returns false if the driver cannot reach the GPU. */
static bool measure_gpu(const struct egs_nvml *nvml, struct egs_nvml_gpu *gpu,
			struct egs_gpu_sample *sample, uint64_t now_ms)
{
	if (egs_nvml_values_add(nvml, gpu->device, gpu->slice, sample) ==
	    EGS_NVML_GPU_IS_LOST)
		return false;
	if (!gpu->slice &&
	    (add_energy(nvml, gpu, sample, now_ms) == EGS_NVML_GPU_IS_LOST ||
	     add_nvlink(nvml, gpu, sample, now_ms) == EGS_NVML_GPU_IS_LOST))
		return false;
	egs_nvml_gpm_add(&gpu->gpm, nvml, sample);
	add_quiet_seconds(gpu, sample, now_ms);
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

uint32_t
egs_nvml_session_read_ended(struct egs_nvml_session *session,
			    struct egs_gpu_process list[EGS_GPU_PROCESSES_MAX])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < session->n; i++)
		if (session->gpu[i].device)
			egs_nvml_accounting_read(
				&session->gpu[i].accounting, &session->nvml,
				session->gpu[i].device, i, list, &n);
	return n;
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

/* An error of a GPU instance is of its slices only. */
static bool is_event_of(const struct egs_nvml_event *event,
			const struct egs_nvml_gpu *gpu)
{
	return gpu->device && gpu->device == event->device &&
	       (!gpu->slice || event->gpu_instance == EGS_NVML_NO_INSTANCE ||
		event->gpu_instance == (unsigned int)gpu->gpu_instance);
}

static void count_event(struct egs_nvml_session *session,
			const struct egs_nvml_event *event)
{
	uint32_t number =
		event->data < XID_MAX ? (uint32_t)event->data : XID_MAX;

	for (uint32_t i = 0; i < session->n; i++)
		if (event->type & EGS_NVML_EVENT_XID &&
		    is_event_of(event, &session->gpu[i]))
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
	void *device = gpu->slice ? gpu->slice : gpu->device;
	char text[EGS_NVML_UUID_SIZE + 1] = "";

	if (nvml->uuid &&
	    nvml->uuid(device, text, EGS_NVML_UUID_SIZE) == EGS_NVML_SUCCESS &&
	    strlen(text) < sizeof(gpu->uuid))
		memcpy(gpu->uuid, text, strlen(text) + 1);
}

static void add_gpu(struct egs_nvml_session *session, int number,
		    unsigned int index, void *device)
{
	struct egs_nvml_gpu *gpu = &session->gpu[number];

	*gpu = (struct egs_nvml_gpu){
		.device = device,
		.gpu_instance = -1,
		.has_process_ms = egs_now_ms(),
		.is_busy_ms = egs_now_ms(),
		.energy_mj = UINT64_MAX,
	};
	snprintf(gpu->index, sizeof(gpu->index), "%u", index);
	read_uuid(&session->nvml, gpu);
	egs_nvml_gpm_open(&gpu->gpm, &session->nvml, device, -1);
	egs_nvml_accounting_open(&gpu->accounting, &session->nvml, device);
}

/* Several slices of one GPU instance share its counters, so none of them has
 * GPM.
 */
static void add_slice(struct egs_nvml_session *session, int number,
		      const struct egs_node_gpus *gpus, void *slice)
{
	struct egs_nvml_gpu *gpu = &session->gpu[number];
	size_t len = strlen(gpu->index);

	gpu->slice = slice;
	gpu->accounting.is_on = false; /* it has no slices */
	gpu->gpu_instance = gpus->gpu_instance[number];
	snprintf(gpu->index + len, sizeof(gpu->index) - len, ".%d",
		 gpu->gpu_instance);
	read_uuid(&session->nvml, gpu);
	egs_nvml_gpm_close(&gpu->gpm, &session->nvml);
	if (egs_node_gpus_count_instance(gpus, number) == 1)
		egs_nvml_gpm_open(&gpu->gpm, &session->nvml, gpu->device,
				  gpu->gpu_instance);
}

/* Find the slices of a MIG GPU that gres.conf has. */
static void add_slices(struct egs_nvml_session *session, unsigned int index,
		       void *device, unsigned int minor,
		       const struct egs_node_gpus *gpus)
{
	const struct egs_nvml *nvml = &session->nvml;
	unsigned int count = 0, gi, ci;
	void *slice;
	int number;

	if (!nvml->mig_count || !nvml->mig_handle || !nvml->gpu_instance ||
	    !nvml->compute_instance ||
	    nvml->mig_count(device, &count) != EGS_NVML_SUCCESS)
		return;
	for (unsigned int i = 0; i < count && i < EGS_NODE_GPUS_MAX; i++) {
		if (nvml->mig_handle(device, i, &slice) != EGS_NVML_SUCCESS ||
		    nvml->gpu_instance(slice, &gi) != EGS_NVML_SUCCESS ||
		    nvml->compute_instance(slice, &ci) != EGS_NVML_SUCCESS)
			continue;
		number =
			egs_node_gpus_find_slice(gpus, minor, (int)gi, (int)ci);
		if (number < 0)
			continue;
		add_gpu(session, number, index, device);
		add_slice(session, number, gpus, slice);
	}
}

static void add_device(struct egs_nvml_session *session, unsigned int index,
		       const struct egs_node_gpus *gpus)
{
	unsigned int minor = 0;
	void *device = NULL;
	int number;

	if (session->nvml.handle(index, &device) != EGS_NVML_SUCCESS ||
	    session->nvml.minor(device, &minor) != EGS_NVML_SUCCESS)
		return;
	number = egs_node_gpus_find(gpus, minor);
	if (number < 0)
		return;
	register_events(session, device);
	if (gpus->is_slice[number])
		add_slices(session, index, device, minor, gpus);
	else
		add_gpu(session, number, index, device);
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

void egs_nvml_session_close(struct egs_nvml_session *session)
{
	for (uint32_t i = 0; i < session->n; i++) {
		egs_nvml_gpm_close(&session->gpu[i].gpm, &session->nvml);
		egs_nvml_accounting_close(&session->gpu[i].accounting);
	}
	if (session->events && session->nvml.event_set_free)
		session->nvml.event_set_free(session->events);
	if (session->initialized)
		session->nvml.shutdown();
	egs_nvml_close(&session->nvml);
	session->n = 0;
}
