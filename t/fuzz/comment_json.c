/* comment_json.c - a hint as JSON in --comment */
#include "common/hint/comment_json.h"
#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct egs_hint_site any = { .any_phase = true };
	struct egs_hint hint = { .phase = "" };
	char *text = fuzz_text(data, size);
	char canonical[EGS_HINT_MAX + 1];
	struct egs_err err;

	if (egs_comment_json_read(&hint, text, &any, &err) == 0)
		egs_hint_format(&hint, canonical, sizeof(canonical));
	egs_comment_json_get_idle_ok_s(text);
	free(text);
	return 0;
}
