/* err.c - sentences about failures, and "did you mean" */
#include <string.h>

#include "common/base/array.h"
#include "common/base/err.h"
#include "common/base/suggest.h"
#include "t/lib/unit/tap.h"

static void test_sentence(void)
{
	struct egs_err err = { "" };

	is_int(egs_errf(&err, "%s:%d: too short", "egs.conf", 14), -1,
	       "a failure is -1");
	is_str(err.msg, "egs.conf:14: too short", "and one sentence");
	is_int(egs_errf(NULL, "nobody asked"), -1, "err may be NULL");
	egs_errf(&err, "reload: %s", err.msg);
	is_str(err.msg, "reload: egs.conf:14: too short",
	       "a caller can put its words in front");
}

static const struct {
	const char *typed, *shown, *what;
} values[] = {
	{ "train", "train", "plain text stays" },
	{ "", "", "so does the empty value" },
	{ NULL, "", "NULL is shown as nothing" },
	{ "$(id) `id` ../..", "$(id) `id` ../..", "nothing is expanded" },
	{ "a\nb\tc\r", "a?b?c?", "no new line, tab or return" },
	{ "\033[31mred\177", "?[31mred?", "no escape, no delete" },
	{ "caf\xc3\xa9", "caf\xc3\xa9", "UTF-8 stays" },
	{ "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
	  "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
	  "so does text from right to left" },
	{ "a\xe2\x80\xae"
	  "b",
	  "a?b", "but no override of its direction" },
	{ "a\xc2\x9b"
	  "b",
	  "a?b", "no C1 control" },
	{ "a\xff\xc0\xaf", "a???", "a byte that is not UTF-8 is one '?'" },
	{ "\xed\xa0\x80", "???", "no surrogate" },
	{ "\xf4\x90\x80\x80", "????", "nothing beyond Unicode" },
	{ "x\xe2\x82", "x??", "no half a character" },
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
	is_int((int)strlen(err.msg), EGS_ERR_MAX - 1, "a sentence is cut");

	for (size_t i = 0; i < size; i += 2)
		memcpy(big + i, "\xc3\xa9", 2);
	egs_errf(&err, "%s", big);
	is_int((int)strlen(err.msg), EGS_ERR_MAX - 2,
	       "the cut is between two characters");
	ok(!strchr(err.msg, '?'), "and leaves no half of one");
	egs_errf(&err, "x%s", big);
	is_int((int)strlen(err.msg), EGS_ERR_MAX - 1,
	       "a character that just fits stays");
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
		       rows[i].meant, "'%s' means %s", rows[i].typed,
		       rows[i].meant ? rows[i].meant : "nothing we know");
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
