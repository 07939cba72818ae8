/* nvml.c - the processes that NVIDIA's driver sees on the GPUs
 *
 * The library libnvidia-ml.so.1 comes with the driver.  egs-noded opens the
 * library at run time, if it is installed, so this file declares the functions.
 * All of them return 0 on success.  If the driver is there and does not tell
 * which processes it sees, the GPUs may be in use.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/node/gpu_users.h"

/* Return codes of NVML: this GPU cannot tell its processes; the room is too
 * small; no driver is loaded, so nothing runs.
 */
enum { NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9 };

enum { FIRST_PROCESSES = 256, PROCESSES_MAX = 1 << 20 };

/* nvmlProcessInfo_t of version 2 and 3. */
struct nvml_process {
	unsigned int pid;
	unsigned long long memory;
	unsigned int gpu_instance, compute_instance;
};

struct nvml_api {
	void *library;
	int (*init)(void);
	int (*shutdown)(void);
	int (*count)(unsigned int *count);
	int (*handle)(unsigned int index, void **device);
	int (*minor)(void *device, unsigned int *minor);
	int (*processes)(void *device, unsigned int *count,
			 struct nvml_process *list);
};

#define GET_PROCESSES "nvmlDeviceGetComputeRunningProcesses"

static const struct nvml_symbol {
	size_t offset;
	const char *name, *older_name;
} symbols[] = {
	{ offsetof(struct nvml_api, init), "nvmlInit_v2", NULL },
	{ offsetof(struct nvml_api, shutdown), "nvmlShutdown", NULL },
	{ offsetof(struct nvml_api, count), "nvmlDeviceGetCount_v2", NULL },
	{ offsetof(struct nvml_api, handle), "nvmlDeviceGetHandleByIndex_v2",
	  NULL },
	{ offsetof(struct nvml_api, minor), "nvmlDeviceGetMinorNumber", NULL },
	{ offsetof(struct nvml_api, processes), GET_PROCESSES "_v3",
	  GET_PROCESSES "_v2" },
};

static bool load_symbols(struct nvml_api *api)
{
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		void *found = dlsym(api->library, symbols[i].name);

		if (!found && symbols[i].older_name)
			found = dlsym(api->library, symbols[i].older_name);
		if (!found)
			return false;
		memcpy((char *)api + symbols[i].offset, &found, sizeof(found));
	}
	return true;
}

/* Returns the GPU whose device file name ends in this number; -1: none. */
static int find_gpu(const struct egs_node_gpus *gpus, unsigned int minor)
{
	for (uint32_t i = 0; i < gpus->n; i++)
		if (gpus->file_number[i] == minor)
			return (int)i;
	return -1;
}

static int fail_call(const char *name, int code, struct egs_err *err)
{
	return egs_errf(err,
			"NVIDIA's driver does not report the processes on the "
			"GPUs: %s() returns %d",
			name, code);
}

/* Read all processes on a GPU into a malloc'ed list. */
static int read_processes(const struct nvml_api *api, void *device,
			  struct nvml_process **list, unsigned int *count)
{
	unsigned int room = FIRST_PROCESSES;
	int code = INSUFFICIENT_SIZE;

	*list = NULL;
	while (code == INSUFFICIENT_SIZE && room <= PROCESSES_MAX) {
		free(*list);
		*list = calloc(room, sizeof(**list));
		*count = room;
		code = *list ? api->processes(device, count, *list)
			     : INSUFFICIENT_SIZE;
		room *= 2;
	}
	return code;
}

static int add_gpu_processes(const struct nvml_api *api, void *device,
			     uint32_t gpu, struct egs_gpu_users *users,
			     struct egs_err *err)
{
	struct nvml_process *list;
	unsigned int count = 0;
	int code = read_processes(api, device, &list, &count), rc = 0;

	for (unsigned int i = 0; code == 0 && rc == 0 && i < count; i++)
		rc = egs_gpu_users_add(users, (pid_t)list[i].pid, gpu, err);
	free(list);
	return code == 0 || code == NOT_SUPPORTED
		       ? rc
		       : fail_call(GET_PROCESSES, code, err);
}

static int add_all_processes(const struct nvml_api *api,
			     const struct egs_node_gpus *gpus,
			     struct egs_gpu_users *users, struct egs_err *err)
{
	unsigned int count = 0, minor = 0;
	void *device = NULL;
	int code = api->count(&count), rc = 0;

	if (code != 0)
		return fail_call("nvmlDeviceGetCount", code, err);
	for (unsigned int i = 0; rc == 0 && i < count; i++) {
		int gpu;

		code = api->handle(i, &device);
		if (code == 0)
			code = api->minor(device, &minor);
		if (code != 0)
			return fail_call("nvmlDeviceGetMinorNumber", code, err);
		gpu = find_gpu(gpus, minor);
		if (gpu >= 0)
			rc = add_gpu_processes(api, device, (uint32_t)gpu,
					       users, err);
	}
	return rc;
}

static int ask_driver(struct nvml_api *api, struct egs_gpu_users *users,
		      const struct egs_node_gpus *gpus, struct egs_err *err)
{
	int code, rc;

	if (!load_symbols(api))
		return egs_errf(err, "libnvidia-ml.so.1 is too old to report "
				     "the processes on the GPUs");
	code = api->init();
	if (code != 0)
		return code == DRIVER_NOT_LOADED
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
	struct nvml_api api = { .library =
					dlopen("libnvidia-ml.so.1", RTLD_NOW) };
	int rc;

	if (!api.library)
		return 0;
	rc = ask_driver(&api, users, gpus, err);
	dlclose(api.library);
	return rc;
}
