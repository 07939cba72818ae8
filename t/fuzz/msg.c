/* msg.c - requests and answers: JSON, with or without a table */
#include "common/ipc/msg.h"
#include "t/fuzz/fuzz.h"

static int count_value(void *arg, const char *key, const char *value)
{
	size_t *sum = arg;

	*sum += strlen(key) + (value ? strlen(value) : 0);
	return 0;
}

static void read_table(const struct egs_msg *msg)
{
	size_t columns, rows, i;
	struct egs_err err;
	bool number;

	if (egs_msg_check_table(msg, &columns, &rows, &err) < 0)
		return;
	for (i = 0; i < columns; i++)
		fuzz_check(egs_msg_get_column(msg, i));
	for (i = 0; i < rows * columns; i++)
		fuzz_check(egs_msg_get_cell(msg, i / columns, i % columns,
					    &number));
}

/* What was parsed is written, and that parses again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct egs_err err;
	struct egs_msg *msg = egs_msg_parse((const char *)data, size,
					    EGS_MSG_REQUEST_MAX, &err);
	size_t len = 0, sum = 0;
	const char *text;
	int64_t n;

	if (!msg)
		return 0;
	egs_msg_each(msg, count_value, &sum);
	egs_msg_get_str(msg, "verb");
	egs_msg_get_int(msg, "job", &n);
	read_table(msg);
	text = egs_msg_to_text(msg, &len);
	if (text && len <= EGS_MSG_REQUEST_MAX) {
		struct egs_msg *again =
			egs_msg_parse(text, len, EGS_MSG_REQUEST_MAX, &err);

		fuzz_check(again);
		egs_msg_free(again);
	}
	egs_msg_free(msg);
	return 0;
}
