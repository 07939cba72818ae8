/* usage.c - decayed, normalised GPU-seconds, and hours against a limit
 *
 * Fixed point: a factor is a fraction of 2^32.
 */
#include "policyd/policy/usage.h"
#include "common/base/array.h"

#define WEEK_S		(7 * 86400)
#define MONDAY_OFFSET_S (3 * 86400) /* the epoch was a Thursday */

#define LN2 2977044472u /* ln 2 */

/* 2^-(1/2), 2^-(1/4), ...: one for each leading bit of the fraction of a half
 * life
 */
static const uint32_t decay_roots[] = {
	3037000500u, 3611622603u, 3938502376u, 4112874773u, 4202935003u,
	4248701965u, 4271771996u, 4283353945u, 4289156690u, 4292061010u,
};

#define ROOT_BITS ARRAY_SIZE(decay_roots)

/* units * factor / 2^32, without a wider type */
static uint64_t scale_units(uint64_t units, uint64_t factor)
{
	return (units >> 32) * factor + ((units & UINT32_MAX) * factor >> 32);
}

/* The leading bits of the fraction are exact powers.  Below them a straight
 * line approximates the power to one part in a million.
 */
uint64_t egs_usage_decay(uint64_t units, uint64_t dt_s, uint32_t half_life_s)
{
	uint64_t fraction, rest;

	if (!half_life_s || dt_s / half_life_s > 63)
		return 0;
	units >>= dt_s / half_life_s;
	fraction = (dt_s % half_life_s << ROOT_BITS) / half_life_s;
	rest = (dt_s % half_life_s << ROOT_BITS) % half_life_s;
	for (unsigned i = 0; i < ROOT_BITS; i++)
		if (fraction >> (ROOT_BITS - 1 - i) & 1)
			units = scale_units(units, decay_roots[i]);
	return units -
	       scale_units(units, rest * (LN2 >> ROOT_BITS) / half_life_s);
}

uint64_t egs_usage_rate(uint32_t gpus, uint32_t rating, uint32_t weight)
{
	return (uint64_t)gpus * rating * weight / EGS_MILLI_ONE;
}

/* The sum of a rate over 'dt'.  A constant rate approaches the level rate *
 * half life / ln 2, and the distance to that level decays.  Over a short time
 * the sum is rate * dt.
 */
static uint64_t accrue_usage(uint64_t rate, uint64_t dt, uint32_t half_life_s)
{
	uint64_t level;

	if (dt < half_life_s >> ROOT_BITS)
		return rate * dt;
	level = rate * half_life_s / 1000 * 1443;
	return level - egs_usage_decay(level, dt, half_life_s);
}

void egs_usage_advance(struct egs_usage *u, egs_time_t now,
		       uint32_t half_life_s)
{
	uint64_t dt;

	if (now <= u->at)
		return;
	dt = (uint64_t)(now - u->at);
	u->at = now;
	if (!half_life_s) {
		u->units = 0;
		return;
	}
	u->units = egs_usage_decay(u->units, dt, half_life_s) +
		   accrue_usage(u->rate, dt, half_life_s);
}

void egs_usage_add_rate(struct egs_usage *u, uint64_t rate)
{
	u->rate += rate;
}

void egs_usage_charge_start(struct egs_usage *u, uint64_t rate)
{
	u->units += rate * EGS_START_CHARGE_S;
}

void egs_usage_refund_start(struct egs_usage *u, uint64_t rate)
{
	uint64_t charge = rate * EGS_START_CHARGE_S;

	u->units -= charge < u->units ? charge : u->units;
}

void egs_usage_charge(struct egs_usage *u, uint64_t rate, uint64_t dt_s,
		      uint32_t half_life_s)
{
	if (half_life_s)
		u->units += accrue_usage(rate, dt_s, half_life_s);
}

void egs_usage_drop_rate(struct egs_usage *u, uint64_t rate)
{
	u->rate -= rate < u->rate ? rate : u->rate;
}

egs_time_t egs_period_start(egs_time_t now, uint32_t per_s)
{
	egs_time_t offset = per_s == WEEK_S ? MONDAY_OFFSET_S : 0;

	if (!per_s)
		return now;
	return now - (now + offset) % per_s;
}

egs_time_t egs_period_end(egs_time_t now, uint32_t per_s)
{
	return egs_period_start(now, per_s) + per_s;
}

void egs_meter_advance(struct egs_meter *m, egs_time_t now, uint32_t per_s)
{
	egs_time_t start = egs_period_start(now, per_s);

	if (now <= m->at)
		return;
	if (m->at < start) {
		m->gpu_s = 0;
		m->at = start;
	}
	m->gpu_s += (uint64_t)(now - m->at) * m->gpus;
	m->at = now;
}

bool egs_meter_is_over(const struct egs_meter *m, const struct egs_rate *limit)
{
	return limit->count != EGS_UNLIMITED &&
	       m->gpu_s >= (uint64_t)limit->count * 3600;
}
