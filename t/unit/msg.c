/* msg.c - messages: accepted, refused, written and read back */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/ipc/msg.h"
#include "t/lib/unit/tap.h"

static struct egs_msg *parse(const char *text, struct egs_err *err)
{
	return egs_msg_parse(text, strlen(text), EGS_MSG_REQUEST_MAX, err);
}

static const struct {
	const char *text, *error; /* NULL: it is fine */
} cases[] = {
	{ "{}", NULL },
	{ "{\"verb\":\"ping\"}", NULL },
	{ " {\"a\": [1, -2.5, true, null, {\"a\": \"\\u00e9\"}]}", NULL },
	{ "{\"a\":{\"a\":1},\"b\":{\"a\":1}}", NULL },
	{ "{\"a\":\"x:y\\\":z\"}", NULL },
	{ "{\"a\":1,\"a\":2}", "the message has a key twice" },
	{ "{\"a\":1,\"\\u0061\":2}", "the message has a key twice" },
	{ "{\"x\":[{\"a\":1,\"b\":2,\"a\":3}]}",
	  "the message has a key twice" },
	{ "", "the message is not JSON" },
	{ "{", "the message is not JSON" },
	{ "{\"a\":1", "the message is not JSON" },
	{ "{\"a\":1,}", "the message is not JSON" },
	{ "{\"a\":[1, ]}", "the message is not JSON" },
	{ "{\"a\":\"\xc3\xa9,]/'\"}", NULL },
	{ "{\"a\":1}{}", "the message is not JSON" },
	{ "{'a':1}", "the message is not JSON" },
	{ "{\"a\":1}/**/", "the message is not JSON" },
	{ "{\"a\":\"\\", "the message is not JSON" },
	{ "[1]", "the message is not a JSON object" },
	{ "\"ping\"", "the message is not a JSON object" },
	{ "{\"a\":\"\xff\"}", "the message is not UTF-8" },
	{ "{\"a\":\"\xc0\xaf\"}", "the message is not UTF-8" },
	{ "{\"a\":\"\xed\xa0\x80\"}", "the message is not UTF-8" },
	{ "{\"a\":\"\xe2\x82", "the message is not UTF-8" },
	{ "{\"a\":\"x\ny\"}",
	  "the message has a control character in a string" },
	{ "{\"verb\\u0000x\":1}",
	  "the message has a control character in a string" },
};

static void test_cases(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct egs_err err = { "" };
		struct egs_msg *msg = parse(cases[i].text, &err);

		is_str(msg ? NULL : err.msg, cases[i].error, "%s: %s",
		       egs_printable(cases[i].text).text,
		       cases[i].error ? "refused" : "fine");
		egs_msg_free(msg);
	}
}

/* {"a":{"a":...}} of this number of levels */
static struct egs_msg *parse_deep(size_t levels, struct egs_err *err)
{
	char text[1024] = "";
	size_t at = 0;

	for (size_t i = 0; i < levels; i++, at += 5)
		memcpy(text + at, "{\"a\":", 5);
	text[at++] = '1';
	memset(text + at, '}', levels);
	return parse(text, err);
}

static void test_bounds(void)
{
	struct egs_err err = { "" };
	struct egs_msg *msg = parse_deep(EGS_MSG_DEPTH_MAX - 1, &err);

	ok(msg != NULL, "a nested message is accepted");
	egs_msg_free(msg);
	for (size_t levels = EGS_MSG_DEPTH_MAX + 1; levels < 150;
	     levels += 60) {
		msg = parse_deep(levels, &err);
		is_str(msg ? NULL : err.msg,
		       "the message is nested deeper than 16 levels",
		       "a message of %zu levels is refused", levels);
		egs_msg_free(msg);
	}
	msg = egs_msg_parse("{\"a\":1}", 7, 6, &err);
	is_str(msg ? NULL : err.msg,
	       "the message has 7 bytes, the longest has 6",
	       "a message that is too long is refused");
	egs_msg_free(msg);
	msg = egs_msg_parse("{}\0\0", 4, 100, &err);
	is_str(msg ? NULL : err.msg, "the message has a NUL",
	       "a message with a NUL is refused");
	egs_msg_free(msg);
	msg = egs_msg_parse("{}xxx", 2, 100, &err);
	ok(msg != NULL, "bytes after the given length are ignored");
	egs_msg_free(msg);
}

static int join(void *arg, const char *key, const char *value)
{
	struct egs_err *to = arg;

	egs_errf(to, "%s%s%s", to->msg, key, value ? value : "?");
	return strcmp(key, "stop") == 0 ? 7 : 0;
}

static void test_keys(void)
{
	struct egs_msg *msg = egs_msg_new(), *copy;
	struct egs_err err = { "" };
	int64_t number = 5;
	struct egs_err all = { "" };
	size_t len;

	egs_msg_set_str(msg, "verb", "update");
	egs_msg_set_str(msg, "verb", "show");
	egs_msg_set_str(msg, "none", NULL);
	egs_msg_set_str(msg, "bad", "a\xff\"b\xc3\xa9");
	egs_msg_set_int(msg, "big", INT64_MIN);
	egs_msg_set_bool(msg, "yes", true);
	egs_msg_set_bool(msg, "no", false);
	is_str(egs_msg_to_text(msg, &len),
	       "{\"verb\":\"show\",\"bad\":\"a?\\\"b\xc3\xa9\","
	       "\"big\":-9223372036854775808,\"yes\":true,\"no\":false}",
	       "a message is a line of JSON, in the order it was written");
	copy = parse(egs_msg_to_text(msg, &len), &err);
	if (!ok(copy != NULL, "the text of a message is parsed: %s", err.msg))
		return;
	is_str(egs_msg_get_str(copy, "verb"), "show", "a string is read back");
	ok(egs_msg_get_int(copy, "big", &number) && number == INT64_MIN,
	   "a number is read back");
	ok(egs_msg_is_true(copy, "yes") && !egs_msg_is_true(copy, "no"),
	   "a boolean is read back");
	ok(!egs_msg_get_str(copy, "big") && !egs_msg_get_str(copy, "none"),
	   "a number or a missing key is not a string");
	ok(!egs_msg_get_int(copy, "verb", &number) && number == INT64_MIN,
	   "a string is not a number");
	ok(!egs_msg_is_true(copy, "verb"), "a string is not true");
	egs_msg_set_str(copy, "stop", "!");
	egs_msg_set_str(copy, "more", "");
	is_int(egs_msg_each(copy, join, &all), 7,
	       "egs_msg_each() returns the last value of the callback");
	is_str(all.msg,
	       "verbshowbada?\"b\xc3\xa9"
	       "big-9223372036854775808yestruenofalsestop!",
	       "keys are visited in order, until the callback stops");
	egs_msg_replace(msg, copy);
	is_str(egs_msg_get_str(msg, "stop"), "!",
	       "egs_msg_replace() gives a message another content");
	egs_msg_free(msg);
}

static void test_table(void)
{
	static const char *const names[] = { "JOBID", "GPUS" };
	struct egs_msg *msg = egs_msg_new();
	size_t columns = 0, rows = 0, len;
	struct egs_err err = { "" };
	bool number;

	is_int(egs_msg_check_table(msg, &columns, &rows, &err), -1,
	       "a message without a table is refused: %s", err.msg);
	egs_msg_set_columns(msg, names, ARRAY_SIZE(names));
	is_int(egs_msg_check_table(msg, &columns, &rows, &err), 0,
	       "a table may have no rows");
	egs_msg_add_row(msg);
	egs_msg_add_cell(msg, "81_4");
	egs_msg_add_cell_int(msg, 8);
	egs_msg_add_row(msg);
	egs_msg_add_cell(msg, NULL);
	is_int(egs_msg_check_table(msg, &columns, &rows, &err), -1,
	       "a short row is refused");
	is_str(err.msg, "row 2 of the table is invalid",
	       "the refusal names the row");
	egs_msg_add_cell(msg, "-");
	is_str(egs_msg_to_text(msg, &len),
	       "{\"columns\":[\"JOBID\",\"GPUS\"],"
	       "\"rows\":[[\"81_4\",8],[\"\",\"-\"]]}",
	       "a table is written as columns and rows");
	is_int(egs_msg_check_table(msg, &columns, &rows, &err), 0,
	       "a table is accepted");
	ok(columns == 2 && rows == 2, "a table has its size");
	is_str(egs_msg_get_column(msg, 1), "GPUS", "a column has its name");
	is_str(egs_msg_get_cell(msg, 0, 1, &number), "8",
	       "a cell is read as text");
	ok(number, "a cell with a number is a number");
	is_str(egs_msg_get_cell(msg, 1, 0, &number), "",
	       "an empty cell is empty text");
	ok(!number, "a cell with text is not a number");
	egs_msg_free(msg);

	msg = egs_msg_new();
	egs_msg_add_row(msg);
	egs_msg_add_cell(msg, "x");
	ok(egs_msg_to_text(msg, &len) == NULL,
	   "a row without columns is an error");
	egs_msg_free(msg);
	msg = parse("{\"columns\":[\"A\"],\"rows\":[[{}]]}", &err);
	is_int(egs_msg_check_table(msg, &columns, &rows, &err), -1,
	       "a cell with an object is refused");
	egs_msg_free(msg);
}

/* Any bytes are refused or read; what was read is written the same again.
 * The sequence is always the same.
 */
static void test_fuzz(void)
{
	static const char seed[] =
		"{\"verb\":\"show\",\"n\":[1,2.5,-3],\"o\":{\"k\":\"\\u00e9"
		"\xc3\xa9\"},\"columns\":[\"A\"],\"rows\":[[\"x\"],[3]]}";
	static const char odd[] = "{}[]\",:\\u0\xff\xc3 1e-";
	uint32_t r = 1;
	int read = 0, same = 0;

	for (int i = 0; i < 20000; i++) {
		char text[sizeof(seed)];
		struct egs_msg *msg, *copy;
		size_t len;

		memcpy(text, seed, sizeof(seed));
		for (int k = 0; k <= i % 4; k++) {
			r = r * 1664525 + 1013904223;
			text[(r >> 16) % (sizeof(seed) - 1)] =
				odd[(r >> 8) % (sizeof(odd) - 1)];
		}
		len = i % 3 ? sizeof(seed) - 1 : (r >> 12) % sizeof(seed);
		msg = egs_msg_parse(text, len, sizeof(seed), NULL);
		if (!msg)
			continue;
		read++;
		egs_msg_check_table(msg, &(size_t){ 0 }, &(size_t){ 0 }, NULL);
		copy = parse(egs_msg_to_text(msg, &len), NULL);
		same += copy && strcmp(egs_msg_to_text(copy, &len),
				       egs_msg_to_text(msg, &len)) == 0;
		egs_msg_free(copy);
		egs_msg_free(msg);
	}
	ok(read > 100, "some of 20000 damaged messages are read: %d", read);
	is_int(same, read,
	       "each message is the same when written and read again");
}

int main(void)
{
	plan_none();
	test_cases();
	test_bounds();
	test_keys();
	test_table();
	test_fuzz();
	return done_testing();
}
