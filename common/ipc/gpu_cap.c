/* gpu_cap.c - power limits of GPUs in a message
 *
 * A limit is "GPU:PERCENT:MILLIWATTS", and commas are between limits.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/ipc/gpu_cap.h"

void egs_gpu_cap_set(struct egs_msg *msg, const struct egs_gpu_cap *list,
		     uint32_t n)
{
	char text[EGS_GPU_SAMPLES_MAX * 36] = "";
	size_t len = 0;

	for (uint32_t i = 0; i < n && i < EGS_GPU_SAMPLES_MAX; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"%s%" PRIu32 ":%" PRIu32 ":%" PRIu32,
					i ? "," : "", list[i].gpu, list[i].pct,
					list[i].limit_mw);
	egs_msg_set_str(msg, "caps", text);
}

int egs_gpu_cap_read(const struct egs_msg *msg,
		     struct egs_gpu_cap list[EGS_GPU_SAMPLES_MAX])
{
	const char *text = egs_msg_get_str(msg, "caps");
	struct egs_gpu_cap cap;
	int n = 0;

	if (!text)
		return -1;
	for (; text && n < EGS_GPU_SAMPLES_MAX; text = strchr(text, ',')) {
		text += *text == ',';
		if (sscanf(text, "%" SCNu32 ":%" SCNu32 ":%" SCNu32, &cap.gpu,
			   &cap.pct, &cap.limit_mw) == 3 &&
		    cap.gpu < EGS_GPU_SAMPLES_MAX && cap.pct > 0 &&
		    cap.pct < 100)
			list[n++] = cap;
	}
	return n;
}
