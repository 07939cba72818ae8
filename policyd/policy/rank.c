/* rank.c - usage, shares and site factors of all jobs */
#include "policyd/policy/policy_internal.h"

#define AGE_FULL_S INT64_C(604800) /* this age gives all points of age */

/* SiteFactorMax is divided among: a share that is unused, or overused by its
 * whole size; the strongest tier; dependents; the time a victim has waited.
 */
#define SHARE_DIVISOR	   2
#define TIER_DIVISOR	   4
#define DEPENDENTS_DIVISOR 8
#define AGE_DIVISOR	   8

void egs_rank_advance_usage(struct egs_policy *p, const struct egs_job *j)
{
	int team = j->facts.team, workload = j->facts.workload;

	if (team >= 0) {
		egs_usage_advance(&p->usage[team], p->now,
				  p->conf->half_life_s);
		egs_meter_advance(&p->team_meter[team], p->now,
				  p->conf->team[team].max_gpu_hours.per_s);
	}
	if (workload >= 0)
		egs_meter_advance(
			&p->workload_meter[workload], p->now,
			p->conf->workload[workload].max_gpu_hours.per_s);
}

/* Share=, or the quota in GPUs of rating 1.0. */
static uint64_t team_share(const struct egs_policy_conf *c, int team)
{
	uint64_t rated = 0;

	if (c->team[team].share != EGS_UNSET)
		return (uint64_t)c->team[team].share;
	for (int t = 0; t < c->ntypes; t++)
		rated += (uint64_t)c->team[team].quota[t] * c->type[t].rating;
	return rated / EGS_MILLI_ONE;
}

static int32_t to_thousandths(uint64_t part, uint64_t whole)
{
	if (!whole)
		return 0;
	while (part > UINT32_MAX) {
		part >>= 1;
		whole >>= 1;
	}
	return (int32_t)(part * 1000 / whole);
}

static void update_deficits(struct egs_policy *p)
{
	uint64_t shares = 0, units = 0;

	for (int i = 0; i < p->conf->nteams; i++) {
		egs_usage_advance(&p->usage[i], p->now, p->conf->half_life_s);
		shares += team_share(p->conf, i);
		units += p->usage[i].units;
	}
	for (int i = 0; i < p->conf->nteams; i++)
		p->share_deficit[i] =
			to_thousandths(team_share(p->conf, i), shares) -
			to_thousandths(p->usage[i].units, units);
}

/* DependentsFirst= of the workload, else of all, if other jobs wait for 'j'. */
enum egs_dependents egs_rank_dependents(const struct egs_policy *p,
					const struct egs_job *j)
{
	enum egs_dependents how = EGS_DEPENDENTS_INHERIT;

	if (!j->facts.dependents)
		return EGS_DEPENDENTS_NO;
	if (j->facts.workload >= 0)
		how = p->conf->workload[j->facts.workload].dependents_first;
	return how == EGS_DEPENDENTS_INHERIT ? p->conf->dependents_first : how;
}

static int64_t tier_points(const struct egs_policy *p, int tier, int64_t most)
{
	int last = p->conf->ntiers - 1;

	return last > 0 ? most * (last - tier) / last : 0;
}

int32_t egs_rank_site_factor(const struct egs_policy *p,
			     const struct egs_job *j)
{
	int64_t max = p->conf->site_factor_max, sum = 0;
	int64_t age = j->waited_s < AGE_FULL_S ? j->waited_s : AGE_FULL_S;

	if (j->facts.tier < 0)
		return 0;
	if (!j->running && egs_pending_is_over_limit(p, j))
		return (int32_t)-max;
	if (j->facts.team >= 0)
		sum += max / SHARE_DIVISOR * p->share_deficit[j->facts.team] /
		       1000;
	sum += tier_points(p, j->facts.tier, max / TIER_DIVISOR);
	if (egs_rank_dependents(p, j) != EGS_DEPENDENTS_NO)
		sum += max / DEPENDENTS_DIVISOR;
	if (j->ident.restarts)
		sum += max / AGE_DIVISOR * age / AGE_FULL_S;
	return (int32_t)sum;
}

/* Seconds in buckets, four for each power of two, to find a median. */
#define BUCKETS 128

static unsigned find_bucket(uint32_t s)
{
	unsigned log;

	if (s < 4)
		return s;
	log = 31 - (unsigned)__builtin_clz(s);
	return 4 * (log - 1) + (s >> (log - 2) & 3);
}

static uint32_t bucket_start(unsigned b)
{
	return b < 4 ? b : (4 + b % 4) << (b / 4 - 1);
}

static uint32_t unsaved_seconds(const struct egs_policy *p,
				const struct egs_job *j)
{
	egs_time_t from = j->saved_at > j->started ? j->saved_at : j->started;

	return p->now > from ? (uint32_t)(p->now - from) : 0;
}

static uint32_t find_median(const uint32_t *count)
{
	uint64_t all = 0, seen = 0;
	unsigned b = 0;

	for (unsigned i = 0; i < BUCKETS; i++)
		all += count[i];
	while (b < BUCKETS - 1 && (seen += count[b]) * 2 < all)
		b++;
	return all ? bucket_start(b) : EGS_UNSET;
}

/* Per tier: the median time since the last save of jobs that report saves. */
static void find_medians(struct egs_policy *p)
{
	uint32_t count[EGS_TIERS_MAX][BUCKETS] = { { 0 } };

	for (struct egs_job *j = NULL; (j = egs_jobs_next(&p->jobs, j));)
		if (j->running && j->reports_saves && j->facts.tier >= 0)
			count[j->facts.tier]
			     [find_bucket(unsaved_seconds(p, j))]++;
	for (int t = 0; t < p->conf->ntiers; t++)
		p->median_unsaved_s[t] = find_median(count[t]);
}

/* Jobs that can save count with the median of their tier, however often they
 * report a save: a job must not be chosen because it reports often, nor spared
 * because it does not.  A job that cannot save loses all it has done.
 */
uint64_t egs_rank_lost_work(const struct egs_policy *p, const struct egs_job *j)
{
	uint32_t since =
		(uint32_t)(p->now > j->started ? p->now - j->started : 0);
	uint32_t median = p->median_unsaved_s[j->facts.tier];

	if (j->facts.ckpt && j->facts.can_requeue && median < since)
		since = median;
	return egs_victims_lost_work(j->gpus, since, EGS_RESTART_S);
}

/* Added to the cost of a job that cannot be requeued: it is the last of its
 * class.
 */
#define NO_REQUEUE_COST UINT32_C(0x80000000)

uint64_t egs_rank_victim_cost(const struct egs_policy *p,
			      const struct egs_job *j)
{
	uint64_t cost = egs_rank_lost_work(p, j);

	return j->facts.can_requeue ? cost : cost + NO_REQUEUE_COST;
}

void egs_rank_recompute(struct egs_policy *p)
{
	update_deficits(p);
	find_medians(p);
	for (struct egs_job *j = NULL; (j = egs_jobs_next(&p->jobs, j));) {
		int32_t factor = egs_rank_site_factor(p, j);

		if (factor == j->site_factor)
			continue;
		j->site_factor = factor;
		p->rows_changed = true;
	}
}

uint64_t egs_policy_decayed_usage(const struct egs_policy *p, int team)
{
	return p->usage[team].units;
}
