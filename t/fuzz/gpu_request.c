/* gpu_request.c - requests for GPUs as users write them: gpu:a100:2,... */
#include "common/hint/gpu_count.h"
#include "plugins/shared/gpu_request_text.h"
#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	const struct egs_gpu_request_text requests[] = {
		{ .per_job = text },
		{ .per_node = text, .nodes = size ? data[0] : 0 },
		{ .per_task = text, .tasks = UINT32_MAX },
		{ .per_socket = text },
	};
	struct egs_gpu_count gpus;

	for (size_t i = 0; i < 4; i++) {
		memset(&gpus, 0, sizeof(gpus));
		egs_gpu_text_count(&requests[i], &gpus);
		fuzz_check(gpus.ntypes <= EGS_GPU_COUNT_TYPES_MAX);
		egs_gpu_count_total(&gpus);
	}
	free(egs_gpu_text_rewrite(text, 3));
	free(text);
	return 0;
}
