/* flat_json.c - messages written without a library are valid for the library */
#include <string.h>

#include "common/ipc/flat_json.h"
#include "common/ipc/msg.h"
#include "t/lib/unit/random.h"
#include "t/lib/unit/tap.h"

static struct egs_err all;

static void add(void *arg, const char *key, const char *value)
{
	(void)arg;
	egs_errf(&all, "%s%s=%s;", all.msg, key, value ? value : "(more)");
}

/* "key=value;..." of an object, "bad" if it is none. */
static const char *walk(const char *text)
{
	char copy[512];

	snprintf(copy, sizeof(copy), "%s", text);
	all.msg[0] = '\0';
	return egs_flat_json_each(copy, add, NULL) < 0 ? "bad" : all.msg;
}

static void test_read(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "{}", "" },
		{ " { } ", "" },
		{ "{\"ok\":true,\"n\":-12,\"s\":\"a b\"}",
		  "ok=true;n=-12;s=a b;" },
		{ "{ \"a\" : null , \"b\" : \"\" }", "a=null;b=;" },
		{ "{\"s\":\"\\\"\\\\\\/x\"}", "s=\"\\/x;" },
		{ "{\"s\":\"\\u00e9\\u20ac\"}", "s=\xc3\xa9\xe2\x82\xac;" },
		{ "{\"s\":\"\\ud83d\\ude00\"}", "s=\xf0\x9f\x98\x80;" },
		{ "{\"rows\":[[\"a}\",{\"b\":\"]\"}]],\"c\":1}",
		  "rows=(more);c=1;" },
		{ "", "bad" },
		{ "[]", "bad" },
		{ "{\"a\"}", "bad" },
		{ "{\"a\":}", "bad" },
		{ "{\"a\":\"b", "bad" },
		{ "{\"a\":\"\\", "bad" },
		{ "{\"a\":\"\\u12", "bad" },
		{ "{\"a\":\"\\u0000\"}", "bad" },
		{ "{\"a\":\"\\ud83dx\"}", "bad" },
		{ "{\"a\":1", "bad" },
		{ "{\"a\":[1", "bad" },
		{ "{a:1}", "bad" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		is_str(walk(cases[i].text), cases[i].want, "%s", cases[i].text);
}

static void test_write(void)
{
	static struct egs_flat_json flat;
	struct egs_msg *msg;
	struct egs_err err;
	const char *text;
	int64_t n = 0;

	egs_flat_json_add_str(&flat, "path", "a\"b\\c\nd\xc3\xa9\xff$(id)");
	egs_flat_json_add_str(&flat, "none", NULL);
	egs_flat_json_add_int(&flat, "n", INT64_MIN);
	text = egs_flat_json_end(&flat);
	msg = egs_msg_parse(text, flat.len, EGS_MSG_REQUEST_MAX, &err);
	ok(msg, "the written text is a message: %s", text);
	is_str(msg ? egs_msg_get_str(msg, "path") : NULL,
	       "a\"b\\c\nd\xc3\xa9?$(id)", "the message has its string");
	ok(msg && egs_msg_get_int(msg, "n", &n) && n == INT64_MIN,
	   "the message has its number");
	egs_msg_free(msg);

	flat = (struct egs_flat_json){ .len = 0 };
	is_str(egs_flat_json_end(&flat), "{}", "an empty message is written");
	flat = (struct egs_flat_json){ .len = 0 };
	for (int i = 0; i < EGS_RUNDIR_MESSAGE_MAX; i++)
		egs_flat_json_add_int(&flat, "a", 1);
	is_str(egs_flat_json_end(&flat), NULL,
	       "a message that is too long is refused");
}

/* Whatever the bytes, nothing is read beyond their end. */
static void test_fuzz(void)
{
	static const char *const bits[] = {
		"{", "}", "\"", "\"a\":", "\\",	  "\\u",      "d83d",
		"[", "]", ",",	":",	  "true", "\xc3\xa9", "\\ud83d"
	};
	uint64_t seed = 7;
	int objects = 0;

	for (int i = 0; i < 200000; i++) {
		char text[128] = "{";
		uint32_t n = random_below(&seed, 12);

		while (n-- > 0)
			strcat(text,
			       bits[random_below(
				       &seed, sizeof(bits) / sizeof(bits[0]))]);
		all.msg[0] = '\0';
		objects += egs_flat_json_each(text, add, NULL) == 0;
	}
	ok(objects > 0, "%d of 200,000 were objects", objects);
}

int main(void)
{
	plan_none();
	test_read();
	test_write();
	test_fuzz();
	return done_testing();
}
