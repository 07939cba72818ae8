/* gpu_request_text.h - GPU requests as text */
#ifndef EGS_SHARED_GPU_REQUEST_TEXT_H
#define EGS_SHARED_GPU_REQUEST_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/hint/gpu_count.h"

/* Slurm's texts such as "gres:gpu:a100:2"; any may be NULL. */
struct egs_gpu_request_text {
	const char *per_job;
	const char *per_node;
	const char *per_task;
	const char *per_socket;
	uint32_t nodes; /* the minimum; 0: not given, count one */
	uint32_t tasks; /* 0: not given */
};

/* Count the GPUs by type.  False if the job may get more GPUs; the number is
 * then unknown until the job has its nodes.
 */
bool egs_gpu_text_count(const struct egs_gpu_request_text *request,
			struct egs_gpu_count *gpus);

/* A copy of 'text' that requests 'count' GPUs of the same type.  With 0 the GPU
 * request is removed, which may leave "".  Free it with free().  NULL if there
 * is no memory, or not exactly one GPU request to change.
 */
char *egs_gpu_text_rewrite(const char *text, uint32_t count);

#endif
