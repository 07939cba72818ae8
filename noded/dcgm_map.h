/* dcgm_map.h - files that tell dcgm-exporter which jobs have which GPU
 *
 * dcgm-exporter reads a directory (its option --hpc-job-mapping-dir).  A file
 *is named after a GPU of DCGM: "3", or "3.5" for the GPU instance 5 of a MIG
 *GPU. It has the id of a job on each line.  A GPU without a job has no file.
 *
 *	egs_dcgm_map_begin()	forget which jobs have GPUs
 *	egs_dcgm_map_add()	for each GPU of each job
 *	egs_dcgm_map_end()	write what has changed
 */
#ifndef EGS_NODED_DCGM_MAP_H
#define EGS_NODED_DCGM_MAP_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/ipc/gpu_sample.h"

/* Jobs that share a GPU instance. */
#define EGS_DCGM_JOBS_MAX 8

struct egs_dcgm_file {
	char name[EGS_GPU_DEVICE_SIZE];
	uint32_t job[EGS_DCGM_JOBS_MAX];
	uint32_t njobs;
};

struct egs_dcgm_files {
	struct egs_dcgm_file file[EGS_GPU_SAMPLES_MAX];
	uint32_t n;
};

struct egs_dcgm_map {
	int fd; /* of the directory, -1: none */
	struct egs_dcgm_files now, written;
};

/* Open the directory, which is made if its parent exists, and remove the files
 * that an earlier process has left.  Returns 0, or -1 with 'err' set and 'fd'
 * -1.  A directory that others may write to is refused.
 */
int egs_dcgm_map_open(struct egs_dcgm_map *map, const char *path,
		      struct egs_err *err);

/* Remove all files, and close.  Also allowed if it is not open. */
void egs_dcgm_map_close(struct egs_dcgm_map *map);

void egs_dcgm_map_begin(struct egs_dcgm_map *map);
void egs_dcgm_map_add(struct egs_dcgm_map *map, const char *gpu, uint32_t job);

/* Returns 0, or -1 with 'err' set if a file could not be written.  What could
 * not be written is tried again with the next call.
 */
int egs_dcgm_map_end(struct egs_dcgm_map *map, struct egs_err *err);

#endif
