/* nvml.c - the processes that NVIDIA's driver sees on the GPUs
 *
 * The library libnvidia-ml.so.1 comes with the driver.  egs-noded opens the
 * library at run time, if it is installed, so this file declares the functions.
 * All of them return 0 on success.
 */
#include <dlfcn.h>
#include <string.h>

#include "common/base/array.h"
#include "common/node/gpus.h"

enum { PROCESSES_MAX = 1024 };

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

static bool is_listed(const struct egs_gpu_user *list, size_t n, pid_t pid,
		      uint32_t gpu)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].pid == pid && list[i].gpu == gpu)
			return true;
	return false;
}

static size_t add_gpu_processes(const struct nvml_api *api, void *device,
				uint32_t gpu, const char *node,
				struct egs_gpu_user *list, size_t n, size_t max)
{
	static struct nvml_process found[PROCESSES_MAX];
	unsigned int count = PROCESSES_MAX;

	if (api->processes(device, &count, found) != 0)
		return n;
	for (unsigned int i = 0; i < count && i < PROCESSES_MAX; i++) {
		pid_t pid = (pid_t)found[i].pid;

		if (n < max && !is_listed(list, n, pid, gpu))
			list[n++] = egs_gpu_user_read(pid, gpu, node);
	}
	return n;
}

static size_t add_all_processes(const struct nvml_api *api,
				const struct egs_node_gpus *gpus,
				const char *node, struct egs_gpu_user *list,
				size_t n, size_t max)
{
	unsigned int count = 0, minor;
	void *device;

	if (api->count(&count) != 0)
		return n;
	for (unsigned int i = 0; i < count; i++) {
		int gpu = -1;

		if (api->handle(i, &device) == 0 &&
		    api->minor(device, &minor) == 0)
			gpu = find_gpu(gpus, minor);
		if (gpu >= 0)
			n = add_gpu_processes(api, device, (uint32_t)gpu, node,
					      list, n, max);
	}
	return n;
}

size_t egs_gpu_users_add_nvml(const struct egs_node_gpus *gpus,
			      const char *node, struct egs_gpu_user *list,
			      size_t n, size_t max)
{
	struct nvml_api api = { .library =
					dlopen("libnvidia-ml.so.1", RTLD_NOW) };

	if (!api.library)
		return n;
	if (load_symbols(&api) && api.init() == 0) {
		n = add_all_processes(&api, gpus, node, list, n, max);
		api.shutdown();
	}
	dlclose(api.library);
	return n;
}
