/* nvml_accounting.h - processes that have ended on a GPU, by the driver
 *
 * In accounting mode the driver keeps what each process did until some thousand
 * others have ended.  egs-noded turns the mode on, if it may.
 */
#ifndef EGS_NODED_NVML_ACCOUNTING_H
#define EGS_NODED_NVML_ACCOUNTING_H

#include "common/ipc/gpu_process.h"
#include "noded/nvml_api.h"

/* A GPU.  All zero: it has no accounting mode. */
struct egs_nvml_accounting {
	bool is_on;
	uint64_t read_ms; /* when it was last read, 0: never */
	unsigned int
		*ended; /* processes that are known to have ended, sorted */
	size_t n, room;
};

void egs_nvml_accounting_open(struct egs_nvml_accounting *accounting,
			      const struct egs_nvml *nvml, void *device);
void egs_nvml_accounting_close(struct egs_nvml_accounting *accounting);

/* Add the processes that have ended since the last call to 'list', which has
 * '*n' of EGS_GPU_PROCESSES_MAX entries.  Those that do not fit are added by
 * the next call.  The first call adds none: an earlier egs-noded may have
 * counted them.
 */
void egs_nvml_accounting_read(struct egs_nvml_accounting *accounting,
			      const struct egs_nvml *nvml, void *device,
			      uint32_t gpu, struct egs_gpu_process *list,
			      uint32_t *n);

#endif
