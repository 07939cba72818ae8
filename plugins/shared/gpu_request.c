/* gpu_request.c - the GPU request in a job record */
#include <stdlib.h>

#include "plugins/shared/gpu_request.h"
#include "plugins/shared/gpu_request_text.h"

gres_state_t *egs_gpu_request_find(const job_record_t *job)
{
	gres_state_t *gres, *found = NULL;
	uint32_t count = 0;
	egs_list_iter iter;

	if (!job->gres_list_req)
		return NULL;
	iter = list_iterator_create(job->gres_list_req);
	while ((gres = list_next(iter))) {
		if (xstrcmp(gres->gres_name, "gpu"))
			continue;
		found = gres;
		count++;
	}
	list_iterator_destroy(iter);
	return count == 1 ? found : NULL;
}

struct egs_job_size egs_gpu_request_size(const gres_state_t *request)
{
	const gres_job_state_t *state = request->gres_data;

	return (struct egs_job_size){ .gpus_per_node = state->gres_per_node,
				      .gpus_per_job = state->gres_per_job };
}

struct egs_job_size egs_gpu_request_from_held(const gres_state_t *request)
{
	const gres_job_state_t *state = request->gres_data;
	struct egs_job_size size = { 0 };

	if (state->gres_per_node)
		size.gpus_per_node = state->gres_cnt_node_alloc[0];
	if (state->gres_per_job)
		size.gpus_per_job = state->total_gres;
	return size;
}

static void rewrite_count(char **text, uint64_t gpus)
{
	char *new = *text ? egs_gpu_text_rewrite(*text, (uint32_t)gpus) : NULL;

	if (!new)
		return;
	xfree(*text);
	*text = xstrdup(new);
	free(new);
}

void egs_gpu_request_set(job_record_t *job, gres_state_t *request,
			 const struct egs_job_size *size)
{
	gres_job_state_t *state = request->gres_data;

	if (state->gres_per_node) {
		state->gres_per_node = size->gpus_per_node;
		rewrite_count(&job->tres_per_node, size->gpus_per_node);
	}
	if (state->gres_per_job) {
		state->gres_per_job = size->gpus_per_job;
		rewrite_count(&job->tres_per_job, size->gpus_per_job);
	}
}
