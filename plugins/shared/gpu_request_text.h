/* gpu_request_text.h - the GPUs a job asks Slurm for */
#ifndef EGS_SHARED_GPU_REQUEST_TEXT_H
#define EGS_SHARED_GPU_REQUEST_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/hint/gpu_count.h"

/* As Slurm has it, "gres:gpu:a100:2" and so on; any may be NULL. */
struct egs_gpu_request_text {
	const char *per_job;
	const char *per_node;
	const char *per_task;
	const char *per_socket;
	uint32_t nodes; /* at least; 0: it does not say, which is one */
	uint32_t tasks; /* 0: it does not say */
};

/* Count them all by type.  False if there may be more, which cannot be said
 * before the job has its nodes.
 */
bool egs_gpu_text_count(const struct egs_gpu_request_text *asked,
			struct egs_gpu_count *gpus);

/* A copy of 'text' that asks for 'count' GPUs, of the type it has; for none
 * when 'count' is 0, and "" if nothing else was asked for.  Free it with
 * free(); NULL if there is no memory, or no one GPU request to change.
 */
char *egs_gpu_text_rewrite(const char *text, uint32_t count);

#endif
