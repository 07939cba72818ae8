/* stamp.c - AdminComment: stamps and commands that job_submit/egs reads */
#include "common/hint/stamp.h"
#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *comment = fuzz_text(data, size), *other;
	struct egs_resize_command command;
	struct egs_stamp stamp, again;

	if (egs_stamp_find(comment, &stamp) == 0) {
		other = egs_stamp_insert("a comment", &stamp);
		fuzz_check(other);
		fuzz_check(egs_stamp_find(other, &again) == 0);
		fuzz_check(again.nonce == stamp.nonce);
		free(other);
	}
	if (egs_resize_command_is_set(comment))
		egs_resize_command_parse(comment, &command);
	free(comment);
	return 0;
}
