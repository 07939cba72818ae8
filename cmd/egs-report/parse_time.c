/* parse_time.c - parse a time as sacct -S does */
#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmd/egs-report/parse_time.h"
#include "common/base/array.h"

/* The parts of a time that have been parsed so far. */
struct parsed_time {
	struct tm tm;
	bool has_date, has_year, has_time;
};

/* Read 'least' to 'most' digits and move '*at' after them; -1 if there are
 * fewer.
 */
static int read_digits(const char **at, int least, int most)
{
	int value = 0, n = 0;

	while (n < most && isdigit((unsigned char)(*at)[n]))
		value = 10 * value + ((*at)[n++] - '0');
	if (n < least)
		return -1;
	*at += n;
	return value;
}

static bool skip_char(const char **at, char c)
{
	if (**at != c)
		return false;
	++*at;
	return true;
}

static void skip_blanks(const char **at)
{
	while (isblank((unsigned char)**at))
		++*at;
}

/* Read an optional "am" or "pm"; false if the hour is above 12. */
static bool read_am_pm(const char **at, int *hour)
{
	const char *p = *at;
	bool am;

	skip_blanks(&p);
	am = strncasecmp(p, "am", 2) == 0;
	if (!am && strncasecmp(p, "pm", 2) != 0)
		return true;
	if (*hour > 12)
		return false;
	*hour = *hour % 12 + (am ? 0 : 12);
	*at = p + 2;
	return true;
}

/* 10:30[:15][am] */
static bool read_time_of_day(const char **at, struct parsed_time *s)
{
	const char *p = *at;
	int hour = read_digits(&p, 1, 2), minute, second = 0;

	if (hour < 0 || !skip_char(&p, ':') ||
	    (minute = read_digits(&p, 2, 2)) < 0)
		return false;
	if (skip_char(&p, ':') && (second = read_digits(&p, 2, 2)) < 0)
		return false;
	if (!read_am_pm(&p, &hour) || hour > 23 || minute > 59 || second > 59)
		return false;
	s->tm.tm_hour = hour;
	s->tm.tm_min = minute;
	s->tm.tm_sec = second;
	s->has_time = true;
	*at = p;
	return true;
}

/* 'year' below 0: no year was given. */
static bool set_date(struct parsed_time *s, int year, int month, int day)
{
	static const int longest[] = { 31, 29, 31, 30, 31, 30,
				       31, 31, 30, 31, 30, 31 };

	if (month < 1 || month > 12 || day < 1 || day > longest[month - 1])
		return false;
	if (year >= 0)
		s->tm.tm_year = year - 1900;
	s->has_year = year >= 0;
	s->tm.tm_mon = month - 1;
	s->tm.tm_mday = day;
	s->has_date = true;
	return true;
}

/* 2026-11-16 */
static bool read_iso_date(const char **at, struct parsed_time *s)
{
	const char *p = *at;
	int year = read_digits(&p, 4, 4), month, day;

	if (year < 0 || !skip_char(&p, '-') ||
	    (month = read_digits(&p, 1, 2)) < 0 || !skip_char(&p, '-') ||
	    (day = read_digits(&p, 1, 2)) < 0 || !set_date(s, year, month, day))
		return false;
	*at = p;
	return true;
}

/* 11/16[/26], 11.16[.26] or 1116[26] */
static bool read_short_date(const char **at, struct parsed_time *s)
{
	const char *p = *at;
	int month = read_digits(&p, 1, 2), year = -1, day;
	char between = *p == '/' || *p == '.' ? *p : '\0';

	if (month < 0 || (between && !skip_char(&p, between)) ||
	    (day = read_digits(&p, 1, 2)) < 0)
		return false;
	if (between ? skip_char(&p, between) : isdigit((unsigned char)*p)) {
		year = read_digits(&p, 2, 2);
		if (year < 0)
			return false;
		year += 2000;
	}
	if (!set_date(s, year, month, day))
		return false;
	*at = p;
	return true;
}

/* today, noon, ... */
static bool read_named_time(const char **at, struct parsed_time *s)
{
	static const struct {
		const char *name;
		int days, hour; /* -1: no time of day */
	} names[] = { { "today", 0, -1 },   { "tomorrow", 1, -1 },
		      { "midnight", 0, 0 }, { "noon", 0, 12 },
		      { "fika", 0, 15 },    { "teatime", 0, 16 } };
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		len = strlen(names[i].name);
		if (strncasecmp(*at, names[i].name, len) != 0 ||
		    (names[i].hour < 0 ? s->has_date : s->has_time))
			continue;
		*at += len;
		s->tm.tm_mday += names[i].days;
		if (names[i].hour < 0) {
			s->has_date = s->has_year = true;
		} else {
			s->tm.tm_hour = names[i].hour;
			s->has_time = true;
		}
		return true;
	}
	return false;
}

/* Read a date, a time or both, each once. */
static bool read_date_and_time(const char *at, struct parsed_time *s)
{
	for (skip_blanks(&at); *at; skip_blanks(&at)) {
		bool more = read_named_time(&at, s) ||
			    (!s->has_time && read_time_of_day(&at, s)) ||
			    (!s->has_date && (read_iso_date(&at, s) ||
					      read_short_date(&at, s))) ||
			    (s->has_date && !s->has_time &&
			     (skip_char(&at, 'T') || skip_char(&at, '-')));

		if (!more)
			return false;
	}
	return s->has_date || s->has_time;
}

/* Read now or now-7days; false for something else. */
static bool read_relative(const char *text, time_t now, time_t *when)
{
	static const struct {
		const char *name;
		long s;
	} units[] = { { "seconds", 1 },
		      { "minutes", 60 },
		      { "hours", 3600 },
		      { "days", 86400 },
		      { "weeks", 604800 } };
	const char *at = text, *unit;
	long sign, n;
	char *end;
	size_t i, len;

	*when = now;
	skip_blanks(&at);
	if (strncasecmp(at, "now", 3) != 0)
		return false;
	at += 3;
	skip_blanks(&at);
	if (!*at)
		return true;
	sign = *at == '-' ? -1 : 1;
	if (!skip_char(&at, '-') && !skip_char(&at, '+'))
		return false;
	skip_blanks(&at);
	if (!isdigit((unsigned char)*at))
		return false;
	n = strtol(at, &end, 10);
	unit = end;
	skip_blanks(&unit);
	len = strcspn(unit, " \t");
	for (i = 0; i < ARRAY_SIZE(units); i++)
		if (strncasecmp(unit, units[i].name, len) == 0 &&
		    n < 100000000 / units[i].s * 100) {
			*when = now + sign * n * units[i].s;
			return !unit[len + strspn(unit + len, " \t")];
		}
	return false;
}

/* uts1794832496: seconds since the epoch. */
static bool read_epoch(const char *text, time_t *when)
{
	char *end;
	long n;

	if (strncasecmp(text, "uts", 3) != 0 ||
	    !isdigit((unsigned char)text[3]))
		return false;
	n = strtol(text + 3, &end, 10);
	*when = n;
	return !*end && n >= 1000000 && n < LONG_MAX;
}

int egs_parse_time(const char *text, time_t now, time_t *when,
		   struct egs_err *err)
{
	struct parsed_time s = { .has_date = false };
	int month;

	if (read_epoch(text, when) || read_relative(text, now, when))
		return 0;
	localtime_r(&now, &s.tm);
	month = s.tm.tm_mon;
	s.tm.tm_isdst = -1;
	s.tm.tm_hour = s.tm.tm_min = s.tm.tm_sec = 0;
	if (!read_date_and_time(text, &s))
		return egs_errf(err,
				"'%s' is not a time; use 2026-11-16, "
				"2026-11-16T10:30, 10:30, now-7days or "
				"midnight",
				egs_printable(text).text);
	/* Reports are of the past: in June, 12/24 is of last year. */
	if (s.has_date && !s.has_year && s.tm.tm_mon > month)
		s.tm.tm_year--;
	*when = mktime(&s.tm);
	return 0;
}
