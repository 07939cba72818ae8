/* parse_time.c - times as egs-report -S and -E take them */
#include <time.h>

#include "cmd/egs-report/parse_time.h"
#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct egs_err err;
	time_t when;

	egs_parse_time(text, 1794832496, &when, &err);
	free(text);
	return 0;
}
