/* nvml.c - the processes that NVIDIA's driver sees on the GPUs
 *
 * If the driver is there and does not tell which processes it sees, the GPUs
 * may be in use.
 */
#include <stdlib.h>

#include "common/node/gpu_users.h"
#include "noded/nvml_api.h"

enum { FIRST_PROCESSES = 256, PROCESSES_MAX = 1 << 20 };

static int fail_call(const char *name, int code, struct egs_err *err)
{
	return egs_errf(err,
			"NVIDIA's driver does not report the processes on the "
			"GPUs: %s() returns %d",
			name, code);
}

/* Read all processes on a GPU into a malloc'ed list. */
static int read_processes(const struct egs_nvml *api, void *device,
			  struct egs_nvml_process **list, unsigned int *count)
{
	unsigned int room = FIRST_PROCESSES;
	int code = EGS_NVML_INSUFFICIENT_SIZE;

	*list = NULL;
	while (code == EGS_NVML_INSUFFICIENT_SIZE && room <= PROCESSES_MAX) {
		free(*list);
		*list = calloc(room, sizeof(**list));
		*count = room;
		code = *list ? api->processes(device, count, *list)
			     : EGS_NVML_INSUFFICIENT_SIZE;
		room *= 2;
	}
	return code;
}

/* A process whose slice is not known may use each slice of the GPU. */
static bool may_use(const struct egs_node_gpus *gpus, uint32_t gpu,
		    const struct egs_nvml_process *process)
{
	return !gpus->is_slice[gpu] || gpus->gpu_instance[gpu] < 0 ||
	       process->gpu_instance == EGS_NVML_NO_INSTANCE ||
	       (process->gpu_instance ==
			(unsigned int)gpus->gpu_instance[gpu] &&
		process->compute_instance ==
			(unsigned int)gpus->compute_instance[gpu]);
}

static int add_process(const struct egs_nvml_process *process,
		       unsigned int minor, const struct egs_node_gpus *gpus,
		       struct egs_gpu_users *users, struct egs_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < gpus->n; i++)
		if (gpus->file_number[i] == minor && may_use(gpus, i, process))
			rc = egs_gpu_users_add(users, (pid_t)process->pid, i,
					       err);
	return rc;
}

static int add_gpu_processes(const struct egs_nvml *api, void *device,
			     unsigned int minor,
			     const struct egs_node_gpus *gpus,
			     struct egs_gpu_users *users, struct egs_err *err)
{
	struct egs_nvml_process *list;
	unsigned int count = 0;
	int code = read_processes(api, device, &list, &count), rc = 0;

	for (unsigned int i = 0; code == 0 && rc == 0 && i < count; i++)
		rc = add_process(&list[i], minor, gpus, users, err);
	free(list);
	return code == 0 || code == EGS_NVML_NOT_SUPPORTED
		       ? rc
		       : fail_call("nvmlDeviceGetComputeRunningProcesses", code,
				   err);
}

static int add_all_processes(const struct egs_nvml *api,
			     const struct egs_node_gpus *gpus,
			     struct egs_gpu_users *users, struct egs_err *err)
{
	unsigned int count = 0, minor = 0;
	void *device = NULL;
	int code = api->count(&count), rc = 0;

	if (code != 0)
		return fail_call("nvmlDeviceGetCount", code, err);
	for (unsigned int i = 0; rc == 0 && i < count; i++) {
		code = api->handle(i, &device);
		if (code == 0)
			code = api->minor(device, &minor);
		if (code != 0)
			return fail_call("nvmlDeviceGetMinorNumber", code, err);
		if (egs_node_gpus_find(gpus, minor) >= 0)
			rc = add_gpu_processes(api, device, minor, gpus, users,
					       err);
	}
	return rc;
}

static int ask_driver(const struct egs_nvml *api, struct egs_gpu_users *users,
		      const struct egs_node_gpus *gpus, struct egs_err *err)
{
	int code, rc;

	if (!api->processes)
		return egs_errf(err, EGS_NVML_LIBRARY " is too old to report "
						      "the processes on the "
						      "GPUs");
	code = api->init();
	if (code != 0)
		return code == EGS_NVML_DRIVER_NOT_LOADED
			       ? 0
			       : fail_call("nvmlInit", code, err);
	rc = add_all_processes(api, gpus, users, err);
	api->shutdown();
	return rc;
}

int egs_gpu_users_add_nvml(struct egs_gpu_users *users,
			   const struct egs_node_gpus *gpus,
			   struct egs_err *err)
{
	struct egs_nvml api;
	int rc = egs_nvml_open(&api, EGS_NVML_LIBRARY, err);

	if (rc == 0)
		rc = ask_driver(&api, users, gpus, err);
	egs_nvml_close(&api);
	return rc > 0 ? 0 : rc; /* without a library there is no driver */
}
