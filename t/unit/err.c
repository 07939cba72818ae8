/* err.c - sentences about failures, printable text, "did you mean" */
#include <string.h>

#include "common/base/array.h"
#include "common/base/err.h"
#include "common/base/suggest.h"
#include "t/lib/unit/tap.h"

static void test_sentence(void)
{
	struct egs_err err = { "" };

	is_int(egs_errf(&err, "%s:%d: too short", "egs.conf", 14), -1,
	       "egs_errf() returns -1");
	is_str(err.msg, "egs.conf:14: too short",
	       "egs_errf() formats one sentence");
	is_int(egs_errf(NULL, "unused"), -1, "err may be NULL");
	egs_errf(&err, "reload: %s", err.msg);
	is_str(err.msg, "reload: egs.conf:14: too short",
	       "a caller can put words in front of a sentence");
}

static const struct {
	const char *typed, *shown, *what;
} values[] = {
	{ "train", "train", "plain text is unchanged" },
	{ "", "", "an empty value is unchanged" },
	{ NULL, "", "NULL is shown as nothing" },
	{ "$(id) `id` ../..", "$(id) `id` ../..", "shell syntax is unchanged" },
	{ "a\nb\tc\r", "a?b?c?", "newline, tab and return are replaced" },
	{ "\033[31mred\177", "?[31mred?", "escape and delete are replaced" },
	{ "caf\xc3\xa9", "caf\xc3\xa9", "UTF-8 is unchanged" },
	{ "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
	  "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
	  "text from right to left is unchanged" },
	{ "a\xe2\x80\xae"
	  "b",
	  "a?b", "an override of the direction is replaced" },
	{ "a\xc2\x9b"
	  "b",
	  "a?b", "a C1 control is replaced" },
	{ "a\xff\xc0\xaf", "a???", "each byte that is not UTF-8 is replaced" },
	{ "\xed\xa0\x80", "???", "a surrogate is replaced" },
	{ "\xf4\x90\x80\x80", "????", "a code beyond Unicode is replaced" },
	{ "x\xe2\x82", "x??", "an incomplete character is replaced" },
};

static void test_show(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		is_str(egs_printable(values[i].typed).text, values[i].shown,
		       "%s", values[i].what);
}

static void test_bounds(void)
{
	static char big[(4 << 20) + 1];
	size_t size = sizeof(big) - 1;
	struct egs_err err;
	char want[EGS_PRINTABLE_MAX + 4];

	memset(big, 'x', size);
	big[size] = '\0';
	memset(want, 'x', EGS_PRINTABLE_MAX);
	memcpy(want + EGS_PRINTABLE_MAX, "...", 4);
	is_str(egs_printable(big).text, want, "4 MiB are shown as 64 bytes");
	is_str(egs_printable(big + size - EGS_PRINTABLE_MAX).text,
	       big + size - EGS_PRINTABLE_MAX, "64 bytes are shown in full");
	egs_errf(&err, "%s", big);
	is_int((int)strlen(err.msg), EGS_ERR_MAX - 1, "a long sentence is cut");

	for (size_t i = 0; i < size; i += 2)
		memcpy(big + i, "\xc3\xa9", 2);
	egs_errf(&err, "%s", big);
	is_int((int)strlen(err.msg), EGS_ERR_MAX - 2,
	       "a sentence is cut between two characters");
	ok(!strchr(err.msg, '?'), "a cut leaves no incomplete character");
	egs_errf(&err, "x%s", big);
	is_int((int)strlen(err.msg), EGS_ERR_MAX - 1,
	       "a last character that just fits is not cut");
	big[0] = 'x';
	is_int((int)strlen(egs_printable(big + 1).text), 1 + 62 + 3,
	       "a value is cut between two characters");
}

static void test_suggest(void)
{
	static const char *const names[] = { "prep", NULL, "train", "eval",
					     "retrain" };
	static const struct {
		const char *typed, *meant;
	} rows[] = {
		{ "trian", "train" },
		{ "tran", "train" },
		{ "traain", "train" },
		{ "TRAIN", "train" },
		{ "retrian", "retrain" },
		{ "pre", "prep" },
		{ "evl", "eval" },
		{ "eavl", "eval" },
		{ "xyz", NULL },
		{ "e", NULL },
		{ "", NULL },
		{ "trainingtrainingtrainingtraining!", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_str(egs_suggest(rows[i].typed, names, ARRAY_SIZE(names)),
		       rows[i].meant, "'%s' suggests %s", rows[i].typed,
		       rows[i].meant ? rows[i].meant : "no name");
}

int main(void)
{
	plan_none();
	test_sentence();
	test_show();
	test_bounds();
	test_suggest();
	return done_testing();
}
