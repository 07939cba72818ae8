/* usage.h - decayed, normalised GPU-seconds, and hours against a limit
 *
 * Usage halves every FairShareHalfLife.  A GPU counts by its rating and by the
 * weight of its job's phase: 1000 units (EGS_MILLI_ONE) are one second of a GPU
 * of rating 1.0 at weight 1.0.  Between two events the rate is constant and the
 * decay is exact, so more frequent updates change only the rounding.
 */
#ifndef EGS_POLICY_USAGE_H
#define EGS_POLICY_USAGE_H

#include "common/conf/policy_conf.h"
#include "common/rules/take_rule.h"

/* Charged at the start of a job, in seconds of its rate, so that a burst of
 * short jobs counts before the first job ends.
 */
#define EGS_START_CHARGE_S 600

struct egs_usage {
	uint64_t units; /* at 'at' */
	uint64_t rate;	/* units per second since then */
	egs_time_t at;
};

/* The rate of 'gpus' GPUs: units per second. */
uint64_t egs_usage_rate(uint32_t gpus, uint32_t rating, uint32_t weight);

/* Bring '*u' to 'now'; an earlier 'now' changes nothing.  With half life 0,
 * units are always 0.
 */
void egs_usage_advance(struct egs_usage *u, egs_time_t now,
		       uint32_t half_life_s);

/* A job with this rate starts, or stops; '*u' is at the present time. */
void egs_usage_add_rate(struct egs_usage *u, uint64_t rate);
void egs_usage_drop_rate(struct egs_usage *u, uint64_t rate);

/* Charge the start of a job with this rate; give that charge back. */
void egs_usage_charge_start(struct egs_usage *u, uint64_t rate);
void egs_usage_refund_start(struct egs_usage *u, uint64_t rate);

/* Charge 'dt_s' seconds of this rate that were not counted until now. */
void egs_usage_charge(struct egs_usage *u, uint64_t rate, uint64_t dt_s,
		      uint32_t half_life_s);

/* The rest of 'units' after 'dt_s' seconds. */
uint64_t egs_usage_decay(uint64_t units, uint64_t dt_s, uint32_t half_life_s);

/* Plain GPU-seconds since the period began, for MaxGpuHours=N/PERIOD.  Days
 * and months count from the epoch, weeks from a Monday.
 */
struct egs_meter {
	uint64_t gpu_s;
	egs_time_t at;
	egs_time_t counted_until; /* by an earlier daemon, 0: none */
	uint32_t gpus;		  /* running since 'at' */
};

void egs_meter_advance(struct egs_meter *m, egs_time_t now, uint32_t per_s);

/* Has the period's limit been reached?  '*m' is at the present time. */
bool egs_meter_is_over(const struct egs_meter *m, const struct egs_rate *limit);

/* The start of the period that contains 'now', and of the next period. */
egs_time_t egs_period_start(egs_time_t now, uint32_t per_s);
egs_time_t egs_period_end(egs_time_t now, uint32_t per_s);

#endif
