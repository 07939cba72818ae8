/* gpu_request_text.c - GPU requests as text */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/shared/gpu_request_text.h"

static bool has_gpus(const char *text)
{
	struct egs_gpu_count gpus = { .ntypes = 0 };

	egs_gpu_count_add(&gpus, text, 1);
	return gpus.ntypes > 0;
}

static uint32_t at_least_one(uint32_t count)
{
	return count ? count : 1;
}

bool egs_gpu_text_count(const struct egs_gpu_request_text *request,
			struct egs_gpu_count *gpus)
{
	*gpus = (struct egs_gpu_count){ .ntypes = 0 };
	if (has_gpus(request->per_job)) {
		egs_gpu_count_add(gpus, request->per_job, 1);
		return true;
	}
	if (has_gpus(request->per_node)) {
		egs_gpu_count_add(gpus, request->per_node,
				  at_least_one(request->nodes));
		return true;
	}
	if (has_gpus(request->per_task)) {
		egs_gpu_count_add(gpus, request->per_task,
				  at_least_one(request->tasks));
		return request->tasks > 0;
	}
	egs_gpu_count_add(gpus, request->per_socket,
			  at_least_one(request->nodes));
	return !has_gpus(request->per_socket);
}

/* The length of "gpu:a100:2" without the number at its end. */
static size_t find_count_offset(const char *word)
{
	size_t len = strlen(word);
	size_t start = len;

	while (start > 0 && strchr("0123456789", word[start - 1]))
		start--;
	if (start > 0 && start < len && strchr(":=", word[start - 1]))
		return start - 1;
	return len;
}

char *egs_gpu_text_rewrite(const char *text, uint32_t count)
{
	size_t size = strlen(text) + sizeof(":4294967295");
	char *copy = strdup(text);
	char *out = calloc(1, size);
	char *next = copy;
	char *word;
	int changed = 0;

	while (copy && out && (word = strsep(&next, ","))) {
		const char *comma = *out ? "," : "";
		size_t used = strlen(out);

		if (!has_gpus(word)) {
			snprintf(out + used, size - used, "%s%s", comma, word);
			continue;
		}
		changed++;
		if (count)
			snprintf(out + used, size - used, "%s%.*s:%u", comma,
				 (int)find_count_offset(word), word, count);
	}
	free(copy);
	if (changed == 1 || (changed && !count))
		return out;
	free(out);
	return NULL;
}
