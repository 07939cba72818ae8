/* histogram.h - how long runs took, counted in buckets that grow
 *
 * Three buckets for each power of two, so a bucket is 26 % wide.  Older runs
 * count less and less: when EGS_HISTOGRAM_MAX runs are counted, all counts are
 * halved.
 *
 * Weights are counts of one or two histograms, of which quantiles are taken.
 */
#ifndef EGS_PREDICT_HISTOGRAM_H
#define EGS_PREDICT_HISTOGRAM_H

#include <stdint.h>

#include "common/base/clock.h"

#define EGS_HISTOGRAM_BUCKETS 64
#define EGS_HISTOGRAM_MAX     240

/* All zero is an empty histogram. */
struct egs_histogram {
	uint8_t count[EGS_HISTOGRAM_BUCKETS];
	uint8_t total;
};

/* The bucket of a time, and the least time of a bucket.  Bucket 0 begins at 0.
 * The last bucket has no end; for 'bucket' EGS_HISTOGRAM_BUCKETS the second
 * function returns twice its begin.
 */
uint32_t egs_histogram_bucket(egs_time_t seconds);
egs_time_t egs_histogram_begin(uint32_t bucket);

/* Count a run. */
void egs_histogram_add(struct egs_histogram *h, egs_time_t seconds);

struct egs_weights {
	uint64_t bucket[EGS_HISTOGRAM_BUCKETS];
	egs_time_t from_s; /* times up to this one have no weight */
};

/* The weights of 'own' and, as much as 'runs' of its runs, of 'prior', for runs
 * that take longer than 'from_s'.  'prior' may be NULL: the buckets around
 * those of 'own' count instead.  Returns 0, or -1 if no weight is left.
 */
int egs_weights_set(struct egs_weights *w, const struct egs_histogram *own,
		    const struct egs_histogram *prior, uint32_t runs,
		    egs_time_t from_s);

/* The time below which 'percent' of the weight is. */
egs_time_t egs_weights_quantile(const struct egs_weights *w, uint32_t percent);

#endif
