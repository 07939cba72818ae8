/* policy_usage.c - usage halves in a half life, however often one looks */
#include "policyd/policy/usage.h"
#include "t/lib/unit/tap.h"

#define HOUR INT64_C(3600)
#define DAY  INT64_C(86400)
#define WEEK (7 * DAY)

/* Within 1/1000 of 'want'? */
static bool about(uint64_t got, uint64_t want)
{
	uint64_t slack = want / 1000 + 1;

	if (got + slack >= want && got <= want + slack)
		return true;
	note("got %ju, want about %ju", (uintmax_t)got, (uintmax_t)want);
	return false;
}

static void decay(void)
{
	const uint64_t full = 1000000000000;

	ok(egs_usage_decay(full, 0, WEEK) == full, "nothing decays in no time");
	ok(about(egs_usage_decay(full, WEEK, WEEK), full / 2),
	   "half is left after a half life");
	ok(about(egs_usage_decay(full, 3 * WEEK, WEEK), full / 8),
	   "an eighth after three");
	ok(about(egs_usage_decay(full, WEEK / 2, WEEK), 707106781187),
	   "the root of a half after half of one");
	ok(egs_usage_decay(full, 1000 * WEEK, WEEK) == 0,
	   "nothing after a thousand");
	ok(egs_usage_decay(full, 1, WEEK) < full,
	   "a second takes something away");
}

static void looking_often(void)
{
	uint64_t rate = egs_usage_rate(8, 2300, EGS_MILLI_ONE);
	struct egs_usage once = { .rate = rate }, often = once;

	egs_usage_advance(&once, 3 * DAY, WEEK);
	for (egs_time_t t = 2; t <= 3 * DAY; t += 2)
		egs_usage_advance(&often, t, WEEK);
	ok(about(often.units, once.units),
	   "a look every 2 s finds what one look finds");
	ok(once.units < rate * (uint64_t)(3 * DAY),
	   "which is less than was used");
	egs_usage_advance(&once, 100 * WEEK, WEEK);
	ok(about(once.units, rate * (uint64_t)WEEK / 1000 * 1443),
	   "a constant rate settles at its level");
	egs_usage_advance(&once, 50 * WEEK, WEEK);
	is_int(once.at, 100 * WEEK, "a clock that steps back stands still");
}

static void rates(void)
{
	struct egs_usage u = { .at = 100 };

	is_int(egs_usage_rate(4, 2300, 500), 4600,
	       "a GPU counts by its rating and the weight of the phase");
	egs_usage_add_rate(&u, 1000);
	egs_usage_charge_start(&u, 1000);
	is_int(u.units, INT64_C(1000) * EGS_START_CHARGE_S,
	       "a start is charged at once");
	egs_usage_drop_rate(&u, 1000);
	is_int(u.rate, 0, "an end stops the clock");
	egs_usage_drop_rate(&u, 1000);
	is_int(u.rate, 0, "and a second end does no harm");
}

static void meters(void)
{
	const struct egs_rate limit = { 24, DAY };
	struct egs_meter m = { .at = 10 * DAY, .gpus = 2 };

	egs_meter_advance(&m, 10 * DAY + 11 * HOUR, DAY);
	ok(!egs_meter_is_over(&m, &limit),
	   "22 of 24 hours are under the limit");
	egs_meter_advance(&m, 10 * DAY + 12 * HOUR, DAY);
	ok(egs_meter_is_over(&m, &limit), "24 are not");
	egs_meter_advance(&m, 11 * DAY + HOUR, DAY);
	is_int(m.gpu_s, 2 * HOUR, "the next day begins at midnight");
	is_int(egs_period_start(20 * DAY + 5, WEEK), 18 * DAY,
	       "a week begins on Monday");
}

int main(void)
{
	plan_none();
	decay();
	looking_often();
	rates();
	meters();
	return done_testing();
}
