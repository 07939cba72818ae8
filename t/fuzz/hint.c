/* hint.c - hints of users: what is accepted reads back as the same hint */
#include "common/hint/hint.h"
#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct egs_hint_site any = { .any_phase = true };
	struct egs_hint hint = { .phase = "" }, again = { .phase = "" };
	char canonical[EGS_HINT_MAX + 1], second[EGS_HINT_MAX + 1];
	char *text = fuzz_text(data, size);
	struct egs_err err;

	if (egs_hint_parse(&hint, text, &any, &err) == 0 &&
	    egs_hint_format(&hint, canonical, sizeof(canonical)) >= 0) {
		fuzz_check(egs_hint_parse(&again, canonical, &any, &err) == 0);
		egs_hint_format(&again, second, sizeof(second));
		fuzz_check(strcmp(canonical, second) == 0);
	}
	free(text);
	return 0;
}
