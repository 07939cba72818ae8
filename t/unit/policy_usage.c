/* policy_usage.c - usage halves in a half life, however often it is advanced */
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

	ok(egs_usage_decay(full, 0, WEEK) == full,
	   "usage does not decay in no time");
	ok(about(egs_usage_decay(full, WEEK, WEEK), full / 2),
	   "half of the usage is left after one half life");
	ok(about(egs_usage_decay(full, 3 * WEEK, WEEK), full / 8),
	   "an eighth of the usage is left after three half lives");
	ok(about(egs_usage_decay(full, WEEK / 2, WEEK), 707106781187),
	   "the square root of a half is left after half a half life");
	ok(egs_usage_decay(full, 1000 * WEEK, WEEK) == 0,
	   "nothing is left after a thousand half lives");
	ok(egs_usage_decay(full, 1, WEEK) < full,
	   "usage decays within one second");
}

static void advancing_often(void)
{
	uint64_t rate = egs_usage_rate(8, 2300, EGS_MILLI_ONE);
	struct egs_usage once = { .rate = rate }, often = once;

	egs_usage_advance(&once, 3 * DAY, WEEK);
	for (egs_time_t t = 2; t <= 3 * DAY; t += 2)
		egs_usage_advance(&often, t, WEEK);
	ok(about(often.units, once.units),
	   "usage advanced every 2 s equals usage advanced once");
	ok(once.units < rate * (uint64_t)(3 * DAY),
	   "decayed usage is less than the GPU-seconds used");
	egs_usage_advance(&once, 100 * WEEK, WEEK);
	ok(about(once.units, rate * (uint64_t)WEEK / 1000 * 1443),
	   "usage at a constant rate approaches its level");
	egs_usage_advance(&once, 50 * WEEK, WEEK);
	is_int(once.at, 100 * WEEK,
	       "usage does not change when the clock steps back");
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
	is_int(u.rate, 0, "the rate is 0 after the job ends");
	egs_usage_drop_rate(&u, 1000);
	is_int(u.rate, 0, "the rate stays 0 when an end is counted twice");
}

static void meters(void)
{
	const struct egs_rate limit = { 24, DAY };
	struct egs_meter m = { .at = 10 * DAY, .gpus = 2 };

	egs_meter_advance(&m, 10 * DAY + 11 * HOUR, DAY);
	ok(!egs_meter_is_over(&m, &limit),
	   "22 of 24 GPU-hours are under the limit");
	egs_meter_advance(&m, 10 * DAY + 12 * HOUR, DAY);
	ok(egs_meter_is_over(&m, &limit),
	   "24 of 24 GPU-hours are over the limit");
	egs_meter_advance(&m, 11 * DAY + HOUR, DAY);
	is_int(m.gpu_s, 2 * HOUR, "a period of a day begins at midnight");
	is_int(egs_period_start(20 * DAY + 5, WEEK), 18 * DAY,
	       "a period of a week begins on Monday");
}

int main(void)
{
	plan_none();
	decay();
	advancing_often();
	rates();
	meters();
	return done_testing();
}
