/* usage.h - decayed, normalised GPU-seconds, and hours against a limit
 *
 * Usage halves every FairShareHalfLife.  A GPU counts by its rating and by the
 * weight of the phase it works for, so 1000 units (EGS_MILLI_ONE) are one
 * second of an a100 at weight 1.0.  Between two events the rate is constant and
 * the decay is exact, so how often anybody looks changes nothing but rounding.
 */
#ifndef EGS_POLICY_USAGE_H
#define EGS_POLICY_USAGE_H

#include "common/conf/policy_conf.h"
#include "common/rules/take_rule.h"

/* Charged at once when a job starts, in seconds of its rate, so that a burst
 * of short jobs counts before the first of them ends.
 */
#define EGS_START_CHARGE_S 600

struct egs_usage {
	uint64_t units; /* at 'at' */
	uint64_t rate;	/* units per second since then */
	egs_time_t at;
};

/* The rate of 'gpus' GPUs: units per second. */
uint64_t egs_usage_rate(uint32_t gpus, uint32_t rating, uint32_t weight);

/* Bring '*u' to 'now'; a clock that steps back is taken as standing still.
 * Half life 0 means no memory: units are 0.
 */
void egs_usage_advance(struct egs_usage *u, egs_time_t now,
		       uint32_t half_life_s);

/* GPUs with this rate begin to work, or stop; '*u' is at the present time. */
void egs_usage_add_rate(struct egs_usage *u, uint64_t rate);
void egs_usage_drop_rate(struct egs_usage *u, uint64_t rate);

/* Charge the entry of a job with this rate. */
void egs_usage_charge_start(struct egs_usage *u, uint64_t rate);

/* Charge 'dt' seconds of this rate that nobody counted until now. */
void egs_usage_charge(struct egs_usage *u, uint64_t rate, uint64_t dt_s,
		      uint32_t half_life_s);

/* What is left of 'units' after 'dt' seconds. */
uint64_t egs_usage_decay(uint64_t units, uint64_t dt_s, uint32_t half_life_s);

/* Plain GPU-seconds since the period began, for MaxGpuHours=N/PERIOD.  Days
 * and months count from the epoch, weeks from a Monday.
 */
struct egs_meter {
	uint64_t gpu_s;
	egs_time_t at;
	egs_time_t counted_until; /* an earlier policy counted until then, 0:
				     none */
	uint32_t gpus;		  /* running since 'at' */
};

void egs_meter_advance(struct egs_meter *m, egs_time_t now, uint32_t per_s);

/* Has the period's limit been reached?  '*m' is at the present time. */
bool egs_meter_is_over(const struct egs_meter *m, const struct egs_rate *limit);

/* When the period in which 'now' lies began, and when the next one does. */
egs_time_t egs_period_start(egs_time_t now, uint32_t per_s);
egs_time_t egs_period_end(egs_time_t now, uint32_t per_s);

#endif
