/* flat_json.c - JSON of one level, which programs in a job read */
#include "common/ipc/flat_json.h"
#include "t/fuzz/fuzz.h"

static void check_value(void *arg, const char *key, const char *value)
{
	size_t *sum = arg;

	*sum += strlen(key) + (value ? strlen(value) : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	size_t len = strlen(text), sum = 0;

	egs_flat_json_each(text, check_value, &sum);
	fuzz_check(sum <= len);
	free(text);
	return 0;
}
