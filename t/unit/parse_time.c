/* parse_time.c - times as sacct takes them */
#include <stdlib.h>

#include "cmd/egs-report/parse_time.h"
#include "common/base/array.h"
#include "t/lib/unit/tap.h"

/* 2026-11-16 12:34:56 UTC, a Monday */
#define NOW 1794832496

static const struct {
	const char *text, *want;
} cases[] = {
	{ "now", "2026-11-16T12:34:56" },
	{ "now-7days", "2026-11-09T12:34:56" },
	{ "now+90", "2026-11-16T12:36:26" },
	{ "now-2hours", "2026-11-16T10:34:56" },
	{ "now-1w", "2026-11-09T12:34:56" },
	{ "NOW-5minutes", "2026-11-16T12:29:56" },
	{ "today", "2026-11-16T00:00:00" },
	{ "midnight", "2026-11-16T00:00:00" },
	{ "tomorrow", "2026-11-17T00:00:00" },
	{ "noon", "2026-11-16T12:00:00" },
	{ "teatime", "2026-11-16T16:00:00" },
	{ "2026-11-01", "2026-11-01T00:00:00" },
	{ "2026-11-01T08:15", "2026-11-01T08:15:00" },
	{ "2026-11-01T08:15:30", "2026-11-01T08:15:30" },
	{ "11/05", "2026-11-05T00:00:00" },
	{ "11/05/25", "2025-11-05T00:00:00" },
	{ "11.05.25-09:30", "2025-11-05T09:30:00" },
	{ "1105", "2026-11-05T00:00:00" },
	{ "110525", "2025-11-05T00:00:00" },
	{ "9:05", "2026-11-16T09:05:00" },
	{ "09:05:07", "2026-11-16T09:05:07" },
	{ "9:05pm", "2026-11-16T21:05:00" },
	{ "12:00am", "2026-11-16T00:00:00" },
	{ "0:05pm", "2026-11-16T12:05:00" },
	{ "9:05:01 PM", "2026-11-16T21:05:01" },
	{ "fika", "2026-11-16T15:00:00" },
	{ "now - 7 days", "2026-11-09T12:34:56" },
	{ " now ", "2026-11-16T12:34:56" },
	{ "2026-11-01 08:15", "2026-11-01T08:15:00" },
	{ "08:15 11/05", "2026-11-05T08:15:00" },
	{ "noon tomorrow", "2026-11-17T12:00:00" },
	{ "today 10:30", "2026-11-16T10:30:00" },
	{ "1/5", "2026-01-05T00:00:00" },
	{ "11/30", "2026-11-30T00:00:00" },
	{ "12/05", "2025-12-05T00:00:00" },
	{ "1205", "2025-12-05T00:00:00" },
	{ "12/05-10:30", "2025-12-05T10:30:00" },
	{ "12/05/26", "2026-12-05T00:00:00" },
	{ "02/29/24", "2024-02-29T00:00:00" },
	{ "uts1794832496", "2026-11-16T12:34:56" },
	{ "", NULL },
	{ " ", NULL },
	{ "-", NULL },
	{ "T10:30", NULL },
	{ "uts", NULL },
	{ "uts12", NULL },
	{ "uts1794832496s", NULL },
	{ "uts99999999999999999999", NULL },
	{ "today 11/05", NULL },
	{ "10:30 noon", NULL },
	{ "now 10:30", NULL },
	{ "now-1days ago", NULL },
	{ "yesterday", NULL },
	{ "now-", NULL },
	{ "now-7fortnights", NULL },
	{ "now-99999999999weeks", NULL },
	{ "2026-13-01", NULL },
	{ "2026-11-01T25:00", NULL },
	{ "25:00", NULL },
	{ "13:00pm", NULL },
	{ "11/32", NULL },
	{ "9", NULL },
};

int main(void)
{
	struct egs_err err;
	char text[32];
	time_t when;
	struct tm tm;

	plan_none();
	setenv("TZ", "UTC", 1);
	tzset();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int rc = egs_parse_time(cases[i].text, NOW, &when, &err);

		if (!cases[i].want) {
			is_int(rc, -1, "'%s' is refused", cases[i].text);
			continue;
		}
		gmtime_r(&when, &tm);
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
		is_str(rc == 0 ? text : err.msg, cases[i].want,
		       "'%s' is a time", cases[i].text);
	}
	egs_parse_time("soon", NOW, &when, &err);
	is_str(err.msg,
	       "'soon' is not a time; use 2026-11-16, 2026-11-16T10:30, 10:30, "
	       "now-7days or midnight",
	       "a refusal of a time shows what is allowed");
	return done_testing();
}
