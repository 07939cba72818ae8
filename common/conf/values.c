/* values.c - read and write single values of egs.conf */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/array.h"
#include "common/conf/values.h"

#define MINUTE	    60u
#define HOUR	    3600u
#define DAY	    86400u
#define SECONDS_MAX 3153600000u /* 36500 days */

/* Largest number of any key; EGS_UNSET and EGS_UNLIMITED are larger. */
#define NUMBER_MAX 4000000000u

struct time_unit {
	const char *name;
	uint32_t seconds;
};

static const struct time_unit suffixes[] = {
	{ "d", DAY }, { "h", HOUR }, { "m", MINUTE }, { "s", 1 }
};

/* A limit of events has the first two, a rate all but the first. */
static const struct time_unit periods[] = { { "hour", HOUR },
					    { "day", DAY },
					    { "week", 7 * DAY },
					    { "month", 30 * DAY } };
enum { LIMIT_FIRST = 0, LIMIT_END = 2, RATE_FIRST = 1, RATE_END = 4 };

/* Read digits at '*text' and move it behind them.  -1: none, or too many. */
static int read_digits(const char **text, uint32_t *out)
{
	const char *p = *text;
	uint64_t n = 0;

	if (!isdigit((unsigned char)*p))
		return -1;
	for (; isdigit((unsigned char)*p); p++) {
		n = 10 * n + (uint64_t)(*p - '0');
		if (n > NUMBER_MAX)
			return -1;
	}
	*text = p;
	*out = (uint32_t)n;
	return 0;
}

static bool is_all_digits(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
}

int egs_conf_read_number(const char *text, uint32_t *out, struct egs_err *err)
{
	uint32_t n;

	if (!is_all_digits(text))
		return egs_errf(err, "is not a whole number");
	if (read_digits(&text, &n) < 0)
		return egs_errf(err, "is too big, biggest is %u", NUMBER_MAX);
	*out = n;
	return 0;
}

/* Read one or two digits below 'limit' at '*p' and move it behind them. */
static int read_two_digits(const char **p, uint32_t limit, uint32_t *out)
{
	const char *start = *p;

	if (read_digits(p, out) < 0 || *p - start > 2 || *out >= limit)
		return -1;
	return 0;
}

/* [D-]HH:MM:SS; without days the hours may be any number. */
static int read_clock(const char *p, uint64_t *out)
{
	uint32_t days = 0;
	uint32_t h;
	uint32_t m;
	uint32_t s;
	bool dashed = strchr(p, '-') != NULL;

	if (dashed && (read_digits(&p, &days) < 0 || *p++ != '-'))
		return -1;
	if (dashed ? read_two_digits(&p, 24, &h) < 0 : read_digits(&p, &h) < 0)
		return -1;
	if (*p++ != ':' || read_two_digits(&p, 60, &m) < 0)
		return -1;
	if (*p++ != ':' || read_two_digits(&p, 60, &s) < 0 || *p)
		return -1;
	*out = (uint64_t)days * DAY + (uint64_t)h * HOUR +
	       (uint64_t)m * MINUTE + s;
	return 0;
}

static int read_suffixed(const char *p, uint64_t *out)
{
	uint32_t n;

	if (read_digits(&p, &n) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		if (strcasecmp(p, suffixes[i].name) == 0) {
			*out = (uint64_t)n * suffixes[i].seconds;
			return 0;
		}
	}
	return -1;
}

int egs_conf_read_seconds(const char *text, uint32_t *out, struct egs_err *err)
{
	uint64_t seconds = 0;

	if (is_all_digits(text)) {
		if (text[strspn(text, "0")])
			return egs_errf(
				err, "is a bare number; use %.12ss or %.12sm",
				text, text);
	} else if (read_suffixed(text, &seconds) < 0 &&
		   read_clock(text, &seconds) < 0) {
		return egs_errf(err, "is not a duration; use 90s, 15m, 2h, 7d, "
				     "HH:MM:SS or D-HH:MM:SS");
	}
	if (seconds > SECONDS_MAX)
		return egs_errf(err, "is too long, longest is 36500d");
	*out = (uint32_t)seconds;
	return 0;
}

void egs_conf_write_seconds(uint32_t seconds, char *buf, size_t size)
{
	const struct time_unit *unit = suffixes;

	if (seconds == 0)
		unit = &suffixes[ARRAY_SIZE(suffixes) - 1];
	while (seconds % unit->seconds != 0)
		unit++;
	snprintf(buf, size, "%u%s", seconds / unit->seconds, unit->name);
}

static const struct size_unit {
	const char *name;
	uint32_t kib;
} size_units[] = { { "G", 1U << 20 }, { "M", 1U << 10 }, { "K", 1 } };

int egs_conf_read_size(const char *text, uint32_t *out, struct egs_err *err)
{
	const char *p = text;
	uint64_t kib = UINT64_MAX;
	uint32_t n = 0;
	int rc = read_digits(&p, &n);

	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(size_units); i++)
		if (strcasecmp(p, size_units[i].name) == 0)
			kib = (uint64_t)n * size_units[i].kib;
	if (rc == 0 && !*p && n == 0)
		kib = 0;
	if (kib > UINT32_MAX)
		return egs_errf(err, "is not a size such as 512K, 4M or 1G");
	*out = (uint32_t)kib;
	return 0;
}

void egs_conf_write_size(uint32_t kib, char *buf, size_t size)
{
	const struct size_unit *unit = size_units;

	if (kib == 0) {
		snprintf(buf, size, "0");
		return;
	}
	while (kib % unit->kib != 0)
		unit++;
	snprintf(buf, size, "%u%s", kib / unit->kib, unit->name);
}

int egs_conf_read_fixed(const char *text, uint32_t one, uint64_t *out,
			struct egs_err *err)
{
	const char *p = text;
	uint32_t whole;
	uint64_t value;

	if (read_digits(&p, &whole) < 0 || (*p && *p != '.') ||
	    (*p == '.' && !is_all_digits(p + 1)))
		return egs_errf(err, "is not a number such as 1 or 2.5");
	value = whole;
	if (*p == '.')
		p++;
	for (; one > 1; one /= 10)
		value = 10 * value + (uint64_t)(*p ? *p++ - '0' : 0);
	if (*p)
		return egs_errf(err, "has too many decimal places");
	if (whole > 1000000)
		return egs_errf(err, "is too big, biggest is 1000000");
	*out = value;
	return 0;
}

/* At least one decimal place, and no zeros at the end. */
void egs_conf_write_fixed(uint64_t value, uint32_t one, char *buf, size_t size)
{
	char places[16] = "0";
	unsigned long long whole = value / one;
	uint64_t rest = value % one;

	for (size_t i = 0; rest && i < sizeof(places) - 1; i++) {
		uint64_t digit = 10 * rest / one;

		places[i] = (char)('0' + digit);
		rest = 10 * rest - digit * one;
	}
	snprintf(buf, size, "%llu.%s", whole, places);
}

int egs_conf_read_percent(const char *text, uint32_t *out, struct egs_err *err)
{
	const char *p = text;
	uint32_t n;

	if (strcasecmp(text, "all") == 0)
		n = 100;
	else if (strcasecmp(text, "none") == 0)
		n = 0;
	else if (read_digits(&p, &n) < 0 || strcmp(p, "%") != 0)
		return egs_errf(err, "is not accepted; use all, none or N%%");
	if (n > 100)
		return egs_errf(err, "is too big, biggest is 100%%");
	*out = n;
	return 0;
}

void egs_conf_write_percent(uint32_t pct, char *buf, size_t size)
{
	if (pct == 0 || pct == 100)
		snprintf(buf, size, "%s", pct ? "all" : "none");
	else
		snprintf(buf, size, "%u%%", pct);
}

/* Read N/PERIOD with a period from 'first' on, before 'end', or none. */
static int read_per(const char *text, size_t first, size_t end,
		    struct egs_rate *out)
{
	const char *p = text;
	uint32_t n;

	*out = (struct egs_rate){ EGS_UNLIMITED, DAY };
	if (strcasecmp(text, "none") == 0)
		return 0;
	if (read_digits(&p, &n) < 0 || *p != '/')
		return -1;
	for (size_t i = first; i < end; i++) {
		if (strcasecmp(p + 1, periods[i].name) == 0) {
			*out = (struct egs_rate){ n, periods[i].seconds };
			return 0;
		}
	}
	return -1;
}

int egs_conf_read_rate(const char *text, struct egs_rate *out,
		       struct egs_err *err)
{
	struct egs_rate rate;

	if (read_per(text, RATE_FIRST, RATE_END, &rate) < 0)
		return egs_errf(err, "is not accepted; use N/day, N/week, "
				     "N/month or none");
	*out = rate;
	return 0;
}

int egs_conf_read_limit(const char *text, struct egs_rate *out,
			struct egs_err *err)
{
	struct egs_rate rate;

	if (read_per(text, LIMIT_FIRST, LIMIT_END, &rate) < 0)
		return egs_errf(err,
				"is not accepted; use N/hour, N/day or none");
	*out = rate;
	return 0;
}

void egs_conf_write_rate(const struct egs_rate *rate, char *buf, size_t size)
{
	size_t i = 0;

	if (rate->count == EGS_UNLIMITED) {
		snprintf(buf, size, "none");
		return;
	}
	while (i < ARRAY_SIZE(periods) - 1 && periods[i].seconds < rate->per_s)
		i++;
	snprintf(buf, size, "%u/%s", rate->count, periods[i].name);
}

/* N or MIN-MAX */
static int read_bounds(const char *p, struct egs_range *r)
{
	if (read_digits(&p, &r->min) < 0)
		return -1;
	r->max = r->min;
	if (*p == '-') {
		p++;
		if (read_digits(&p, &r->max) < 0)
			return -1;
	}
	return *p ? -1 : 0;
}

int egs_conf_read_range(const char *text, struct egs_range *out,
			struct egs_err *err)
{
	struct egs_range r = { EGS_UNSET, EGS_UNSET };

	if (strcasecmp(text, "any") != 0 && read_bounds(text, &r) < 0)
		return egs_errf(err, "is not accepted; use N, MIN-MAX or any");
	if (r.min > r.max)
		return egs_errf(err, "is out of order; put the smaller "
				     "number first");
	*out = r;
	return 0;
}

void egs_conf_write_range(const struct egs_range *range, char *buf, size_t size)
{
	if (range->min == EGS_UNSET)
		snprintf(buf, size, "any");
	else if (range->min == range->max)
		snprintf(buf, size, "%u", range->min);
	else
		snprintf(buf, size, "%u-%u", range->min, range->max);
}
