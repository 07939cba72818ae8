/* conf_values.c - durations, fractions, rates and ranges are read and written
 */
#include "common/base/array.h"
#include "common/conf/values.h"
#include "t/lib/unit/tap.h"

#define DURATION \
	"is not a duration; use 90s, 15m, 2h, 7d, HH:MM:SS or D-HH:MM:SS"

/* The text, its value and its canonical form, or the refusal. */
static const struct {
	const char *text;
	uint32_t seconds;
	const char *canonical;
	const char *refusal;
} durations[] = {
	{ "0", 0, "0s", NULL },
	{ "00", 0, "0s", NULL },
	{ "0s", 0, "0s", NULL },
	{ "90s", 90, "90s", NULL },
	{ "60s", 60, "1m", NULL },
	{ "15m", 900, "15m", NULL },
	{ "2H", 7200, "2h", NULL },
	{ "7d", 604800, "7d", NULL },
	{ "00:10:00", 600, "10m", NULL },
	{ "100:00:00", 360000, "100h", NULL },
	{ "1-00:00:01", 86401, "86401s", NULL },
	{ "36500d", 3153600000U, "36500d", NULL },
	{ "36501d", 0, NULL, "is too long, longest is 36500d" },
	{ "4000000000d", 0, NULL, "is too long, longest is 36500d" },
	{ "30", 0, NULL, "is a bare number; use 30s or 30m" },
	{ "99999999999999999999", 0, NULL,
	  "is a bare number; use 999999999999s or 999999999999m" },
	{ "99999999999999999999s", 0, NULL, DURATION },
	{ "", 0, NULL, DURATION },
	{ "-5m", 0, NULL, DURATION },
	{ "5 m", 0, NULL, DURATION },
	{ "1h30m", 0, NULL, DURATION },
	{ "10:00", 0, NULL, DURATION },
	{ "00:60:00", 0, NULL, DURATION },
	{ "00:00:60", 0, NULL, DURATION },
	{ "1-24:00:00", 0, NULL, DURATION },
	{ "00:000:00", 0, NULL, DURATION },
	{ "1-2-00:00:00", 0, NULL, DURATION },
	{ "00:00:00x", 0, NULL, DURATION },
	{ "s", 0, NULL, DURATION },
};

#define SIZE "is not a size such as 512K, 4M or 1G"

static void try_durations(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(durations); i++) {
		const char *text = durations[i].text;
		char buf[EGS_CONF_VALUE_MAX];
		struct egs_err err = { "" };
		uint32_t got = 77;
		int rc = egs_conf_read_seconds(text, &got, &err);

		if (durations[i].refusal) {
			ok(rc == -1 && got == 77, "'%s' is refused", text);
			is_str(err.msg, durations[i].refusal,
			       "the refusal of '%s' has a reason", text);
			continue;
		}
		ok(rc == 0 && got == durations[i].seconds,
		   "'%s' is read as %u s", text, durations[i].seconds);
		egs_conf_write_seconds(got, buf, sizeof(buf));
		is_str(buf, durations[i].canonical, "'%s' is written as '%s'",
		       text, durations[i].canonical);
		ok(egs_conf_read_seconds(buf, &got, NULL) == 0 &&
			   got == durations[i].seconds,
		   "'%s' is read back", buf);
	}
}

/* A reader and its writer, on text. */
typedef int through(const char *text, char *buf, struct egs_err *err);

static int price(const char *text, char *buf, struct egs_err *err)
{
	uint64_t value;

	if (egs_conf_read_fixed(text, EGS_PRICE_ONE, &value, err) < 0)
		return -1;
	egs_conf_write_fixed(value, EGS_PRICE_ONE, buf, EGS_CONF_VALUE_MAX);
	return 0;
}

static int percent(const char *text, char *buf, struct egs_err *err)
{
	uint32_t value;

	if (egs_conf_read_percent(text, &value, err) < 0)
		return -1;
	egs_conf_write_percent(value, buf, EGS_CONF_VALUE_MAX);
	return 0;
}

static int size(const char *text, char *buf, struct egs_err *err)
{
	uint32_t value;

	if (egs_conf_read_size(text, &value, err) < 0)
		return -1;
	egs_conf_write_size(value, buf, EGS_CONF_VALUE_MAX);
	return 0;
}

static int rate(const char *text, char *buf, struct egs_err *err)
{
	struct egs_rate value;

	if (egs_conf_read_rate(text, &value, err) < 0)
		return -1;
	egs_conf_write_rate(&value, buf, EGS_CONF_VALUE_MAX);
	return 0;
}

static int limit(const char *text, char *buf, struct egs_err *err)
{
	struct egs_rate value;

	if (egs_conf_read_limit(text, &value, err) < 0)
		return -1;
	egs_conf_write_rate(&value, buf, EGS_CONF_VALUE_MAX);
	return 0;
}

static int range(const char *text, char *buf, struct egs_err *err)
{
	struct egs_range value;

	if (egs_conf_read_range(text, &value, err) < 0)
		return -1;
	egs_conf_write_range(&value, buf, EGS_CONF_VALUE_MAX);
	return 0;
}

#define PERCENT "is not accepted; use all, none or N%"
#define RATE	"is not accepted; use N/day, N/week, N/month or none"
#define LIMIT	"is not accepted; use N/hour, N/day or none"
#define RANGE	"is not accepted; use N, MIN-MAX or any"
#define NUMBER	"is not a number such as 1 or 2.5"

static const struct {
	through *through;
	const char *text;
	const char *canonical; /* NULL: refused */
	const char *refusal;
} rows[] = {
	{ price, "0", "0.0", NULL },
	{ price, "2.10", "2.1", NULL },
	{ price, "0.000001", "0.000001", NULL },
	{ price, "1000000", "1000000.0", NULL },
	{ price, "1000001", NULL, "is too big, biggest is 1000000" },
	{ price, "0.0000001", NULL, "has too many decimal places" },
	{ price, "1.", NULL, NUMBER },
	{ price, ".5", NULL, NUMBER },
	{ price, "1e3", NULL, NUMBER },
	{ price, "nan", NULL, NUMBER },
	{ price, "1,5", NULL, NUMBER },
	{ size, "0", "0", NULL },
	{ size, "4m", "4M", NULL },
	{ size, "2048K", "2M", NULL },
	{ size, "1500K", "1500K", NULL },
	{ size, "3G", "3G", NULL },
	{ size, "4", NULL, SIZE },
	{ size, "4MB", NULL, SIZE },
	{ size, "-4M", NULL, SIZE },
	{ size, "9999999G", NULL, SIZE },
	{ size, "", NULL, SIZE },
	{ percent, "all", "all", NULL },
	{ percent, "NONE", "none", NULL },
	{ percent, "50%", "50%", NULL },
	{ percent, "100%", "all", NULL },
	{ percent, "0%", "none", NULL },
	{ percent, "101%", NULL, "is too big, biggest is 100%" },
	{ percent, "50", NULL, PERCENT },
	{ percent, "%", NULL, PERCENT },
	{ percent, "50%%", NULL, PERCENT },
	{ rate, "3/day", "3/day", NULL },
	{ rate, "0/Week", "0/week", NULL },
	{ rate, "3000/month", "3000/month", NULL },
	{ rate, "none", "none", NULL },
	{ rate, "3", NULL, RATE },
	{ rate, "3/", NULL, RATE },
	{ rate, "/day", NULL, RATE },
	{ rate, "3/hour", NULL, RATE },
	{ rate, "99999999999/day", NULL, RATE },
	{ limit, "2/Hour", "2/hour", NULL },
	{ limit, "5/day", "5/day", NULL },
	{ limit, "none", "none", NULL },
	{ limit, "2/week", NULL, LIMIT },
	{ limit, "2", NULL, LIMIT },
	{ range, "0", "0", NULL },
	{ range, "8-64", "8-64", NULL },
	{ range, "8-8", "8", NULL },
	{ range, "Any", "any", NULL },
	{ range, "8-", NULL, RANGE },
	{ range, "-8", NULL, RANGE },
	{ range, "8-64-", NULL, RANGE },
	{ range, "64-8", NULL,
	  "is out of order; put the smaller number first" },
};

int main(void)
{
	plan_none();
	try_durations();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char buf[EGS_CONF_VALUE_MAX] = "";
		struct egs_err err = { "" };
		int rc = rows[i].through(rows[i].text, buf, &err);

		is_str(rc == 0 ? buf : NULL, rows[i].canonical, "'%s' is %s",
		       rows[i].text,
		       rows[i].canonical ? rows[i].canonical : "refused");
		is_str(rc == 0 ? NULL : err.msg, rows[i].refusal,
		       "'%s' has the expected reason", rows[i].text);
	}
	return done_testing();
}
