/* resume_info.c - the variable that tells a restarted job where it was */
#include "common/hint/resume_info.h"
#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct egs_resume_info info, again;
	char *value = fuzz_text(data, size);
	char text[EGS_RESUME_INFO_MAX];

	if (egs_resume_info_parse(&info, value) == 0) {
		egs_resume_info_format(&info, text);
		fuzz_check(egs_resume_info_parse(&again,
						 strchr(text, '=') + 1) == 0);
		fuzz_check(again.restarts == info.restarts);
		fuzz_check(strcmp(again.path, info.path) == 0);
	}
	free(value);
	return 0;
}
