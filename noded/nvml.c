/* nvml.c - the processes that NVIDIA's driver has on the GPUs
 *
 * Its library, libnvidia-ml.so.1, comes with the driver, so it is opened when
 * it is there; what is used of it is declared here.  All its functions return 0
 * when all is well.
 */
#include <dlfcn.h>
#include <string.h>

#include "common/base/array.h"
#include "common/node/gpus.h"

enum { PROCESSES_MAX = 1024 };

/* nvmlProcessInfo_t of version 2 and 3. */
struct process {
	unsigned int pid;
	unsigned long long memory;
	unsigned int gpu_instance, compute_instance;
};

struct api {
	void *library;
	int (*init)(void);
	int (*shutdown)(void);
	int (*count)(unsigned int *count);
	int (*handle)(unsigned int index, void **device);
	int (*minor)(void *device, unsigned int *minor);
	int (*processes)(void *device, unsigned int *count,
			 struct process *list);
};

#define PROCESSES "nvmlDeviceGetComputeRunningProcesses"

static const struct symbol {
	size_t offset;
	const char *name, *older;
} symbols[] = {
	{ offsetof(struct api, init), "nvmlInit_v2", NULL },
	{ offsetof(struct api, shutdown), "nvmlShutdown", NULL },
	{ offsetof(struct api, count), "nvmlDeviceGetCount_v2", NULL },
	{ offsetof(struct api, handle), "nvmlDeviceGetHandleByIndex_v2", NULL },
	{ offsetof(struct api, minor), "nvmlDeviceGetMinorNumber", NULL },
	{ offsetof(struct api, processes), PROCESSES "_v3", PROCESSES "_v2" },
};

static bool find_symbols(struct api *api)
{
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		void *found = dlsym(api->library, symbols[i].name);

		if (!found && symbols[i].older)
			found = dlsym(api->library, symbols[i].older);
		if (!found)
			return false;
		memcpy((char *)api + symbols[i].offset, &found, sizeof(found));
	}
	return true;
}

/* The GPU with this number at the end of its file's name; -1: none of ours. */
static int card_of(const struct egs_cards *cards, unsigned int minor)
{
	for (uint32_t i = 0; i < cards->n; i++)
		if (cards->number[i] == minor)
			return (int)i;
	return -1;
}

static bool is_known(const struct egs_opener *list, size_t n, pid_t pid,
		     uint32_t card)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].pid == pid && list[i].card == card)
			return true;
	return false;
}

static size_t add_card(const struct api *api, void *device, uint32_t card,
		       const char *node, struct egs_opener *list, size_t n,
		       size_t max)
{
	static struct process found[PROCESSES_MAX];
	unsigned int count = PROCESSES_MAX;

	if (api->processes(device, &count, found) != 0)
		return n;
	for (unsigned int i = 0; i < count && i < PROCESSES_MAX; i++) {
		pid_t pid = (pid_t)found[i].pid;

		if (n < max && !is_known(list, n, pid, card))
			list[n++] = egs_opener_of(pid, card, node);
	}
	return n;
}

static size_t add_all(const struct api *api, const struct egs_cards *cards,
		      const char *node, struct egs_opener *list, size_t n,
		      size_t max)
{
	unsigned int count = 0, minor;
	void *device;

	if (api->count(&count) != 0)
		return n;
	for (unsigned int i = 0; i < count; i++) {
		int card = -1;

		if (api->handle(i, &device) == 0 &&
		    api->minor(device, &minor) == 0)
			card = card_of(cards, minor);
		if (card >= 0)
			n = add_card(api, device, (uint32_t)card, node, list, n,
				     max);
	}
	return n;
}

size_t egs_cards_driver(const struct egs_cards *cards, const char *node,
			struct egs_opener *list, size_t n, size_t max)
{
	struct api api = { .library = dlopen("libnvidia-ml.so.1", RTLD_NOW) };

	if (!api.library)
		return n;
	if (find_symbols(&api) && api.init() == 0) {
		n = add_all(&api, cards, node, list, n, max);
		api.shutdown();
	}
	dlclose(api.library);
	return n;
}
