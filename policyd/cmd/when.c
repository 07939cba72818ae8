/* when.c - a time in the words of sacct -S */
#include "policyd/cmd/when.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "policyd/core/array.h"

/* Exactly 'n' digits at '*at', which is moved behind them; -1 for none. */
static int digits(const char **at, int n)
{
	int value = 0, i;

	for (i = 0; i < n; i++) {
		if (!isdigit((unsigned char)(*at)[i]))
			return -1;
		value = 10 * value + ((*at)[i] - '0');
	}
	*at += n;
	return value;
}

static bool skip(const char **at, char c)
{
	if (**at != c)
		return false;
	++*at;
	return true;
}

/* "am" and "pm" behind a time of twelve hours. */
static bool half_day(const char **at, struct tm *tm)
{
	bool am = strncasecmp(*at, "am", 2) == 0;

	if (!am && strncasecmp(*at, "pm", 2) != 0)
		return true;
	if (tm->tm_hour < 1 || tm->tm_hour > 12)
		return false;
	tm->tm_hour = tm->tm_hour % 12 + (am ? 0 : 12);
	*at += 2;
	return true;
}

/* 10:30[:15][am] */
static bool time_of_day(const char **at, struct tm *tm)
{
	const char *p = *at;
	int hour = digits(&p, 2), minute, second = 0;

	if (hour < 0) {
		p = *at;
		hour = digits(&p, 1);
	}
	if (hour < 0 || !skip(&p, ':') || (minute = digits(&p, 2)) < 0)
		return false;
	if (skip(&p, ':') && (second = digits(&p, 2)) < 0)
		return false;
	tm->tm_hour = hour;
	tm->tm_min = minute;
	tm->tm_sec = second;
	if (!half_day(&p, tm) || tm->tm_hour > 23 || minute > 59 || second > 59)
		return false;
	*at = p;
	return true;
}

static bool set_date(struct tm *tm, int year, int month, int day)
{
	static const int longest[] = { 31, 29, 31, 30, 31, 30,
				       31, 31, 30, 31, 30, 31 };

	if (month < 1 || month > 12 || day < 1 || day > longest[month - 1])
		return false;
	if (year >= 0)
		tm->tm_year = year - 1900;
	tm->tm_mon = month - 1;
	tm->tm_mday = day;
	tm->tm_hour = tm->tm_min = tm->tm_sec = 0;
	return true;
}

/* 2026-11-16 */
static bool iso_date(const char **at, struct tm *tm)
{
	const char *p = *at;
	int year = digits(&p, 4), month, day;

	if (year < 0 || !skip(&p, '-') || (month = digits(&p, 2)) < 0 ||
	    !skip(&p, '-') || (day = digits(&p, 2)) < 0 ||
	    !set_date(tm, year, month, day))
		return false;
	*at = p;
	return true;
}

/* 11/16[/26], 11.16[.26] or 1116[26] */
static bool short_date(const char **at, struct tm *tm)
{
	const char *p = *at;
	int month = digits(&p, 2), year = -1, day;
	char between = *p == '/' || *p == '.' ? *p : '\0';

	if (month < 0 || (between && !skip(&p, between)) ||
	    (day = digits(&p, 2)) < 0)
		return false;
	if (between ? skip(&p, between) : isdigit((unsigned char)*p)) {
		year = digits(&p, 2);
		if (year < 0)
			return false;
		year += 2000;
	}
	if (!set_date(tm, year, month, day))
		return false;
	*at = p;
	return true;
}

static bool date_and_time(const char *text, struct tm *tm)
{
	const char *at = text;

	if (time_of_day(&at, tm) && !*at)
		return true;
	at = text;
	if (iso_date(&at, tm))
		return !*at || (skip(&at, 'T') && time_of_day(&at, tm) && !*at);
	return short_date(&at, tm) &&
	       (!*at || (skip(&at, '-') && time_of_day(&at, tm) && !*at));
}

/* now, or now-7days; false if it is something else. */
static bool from_now(const char *text, time_t now, time_t *when)
{
	static const struct {
		const char *name;
		long s;
	} units[] = { { "seconds", 1 },
		      { "minutes", 60 },
		      { "hours", 3600 },
		      { "days", 86400 },
		      { "weeks", 604800 } };
	long sign, n;
	char *end;
	size_t i, len;

	*when = now;
	if (strncasecmp(text, "now", 3) != 0)
		return false;
	if (!text[3])
		return true;
	if (!strchr("+-", text[3]) || !isdigit((unsigned char)text[4]))
		return false;
	sign = text[3] == '-' ? -1 : 1;
	n = strtol(text + 4, &end, 10);
	len = strlen(end);
	for (i = 0; i < ARRAY_SIZE(units); i++)
		if (strncasecmp(end, units[i].name, len) == 0 &&
		    n < 100000000 / units[i].s * 100) {
			*when = now + sign * n * units[i].s;
			return true;
		}
	return false;
}

int egs_when(const char *text, time_t now, time_t *when, struct egs_err *err)
{
	static const struct {
		const char *name;
		int days, hour;
	} names[] = { { "today", 0, 0 },    { "midnight", 0, 0 },
		      { "tomorrow", 1, 0 }, { "noon", 0, 12 },
		      { "fika", 0, 15 },    { "teatime", 0, 16 } };
	struct tm tm;
	size_t i;

	localtime_r(&now, &tm);
	tm.tm_isdst = -1;
	if (from_now(text, now, when))
		return 0;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (strcasecmp(text, names[i].name) == 0) {
			tm.tm_mday += names[i].days;
			tm.tm_hour = names[i].hour;
			tm.tm_min = tm.tm_sec = 0;
			break;
		}
	if (i == ARRAY_SIZE(names) && !date_and_time(text, &tm))
		return egs_errf(err,
				"'%s' is no time; write 2026-11-16, "
				"2026-11-16T10:30, 10:30, now-7days or "
				"midnight",
				egs_show(text).text);
	*when = mktime(&tm);
	return 0;
}
