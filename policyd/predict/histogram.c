/* histogram.c - how long runs took, counted in buckets that grow */
#include <stdbool.h>

#include "policyd/predict/histogram.h"

enum {
	FIRST_S = 8,	/* the end of bucket 0 */
	PER_OCTAVE = 3, /* buckets */
	/* Without a prior, so many buckets on both sides may be next. */
	NEIGHBOURS = 3,
	/* A weight can be cut into so many parts. */
	PARTS = 1024,
};

egs_time_t egs_histogram_begin(uint32_t bucket)
{
	/* 2 to the power of 0, 1/3 and 2/3, in thousandths */
	static const egs_time_t root[PER_OCTAVE] = { 1000, 1260, 1587 };
	uint32_t i = bucket - 1;

	if (!bucket)
		return 0;
	if (bucket >= EGS_HISTOGRAM_BUCKETS)
		return 2 * egs_histogram_begin(EGS_HISTOGRAM_BUCKETS - 1);
	return (root[i % PER_OCTAVE] * FIRST_S << i / PER_OCTAVE) / 1000;
}

uint32_t egs_histogram_bucket(egs_time_t seconds)
{
	uint32_t low = 0, high = EGS_HISTOGRAM_BUCKETS;

	while (high - low > 1) {
		uint32_t mid = (low + high) / 2;

		if (egs_histogram_begin(mid) <= seconds)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* An odd count is rounded up in every second bucket, so that single runs fade
 * without a change of the sum.
 */
static void halve_counts(struct egs_histogram *h)
{
	h->total = 0;
	for (uint32_t i = 0; i < EGS_HISTOGRAM_BUCKETS; i++) {
		h->count[i] = (uint8_t)((h->count[i] + (i & 1)) / 2);
		h->total = (uint8_t)(h->total + h->count[i]);
	}
}

void egs_histogram_add(struct egs_histogram *h, egs_time_t seconds)
{
	if (h->total >= EGS_HISTOGRAM_MAX)
		halve_counts(h);
	h->count[egs_histogram_bucket(seconds)]++;
	h->total++;
}

/* One run in each bucket near those that have some. */
static struct egs_histogram spread_counts(const struct egs_histogram *own)
{
	struct egs_histogram wide = { .total = 0 };

	for (int i = 0; i < EGS_HISTOGRAM_BUCKETS; i++)
		for (int k = i - NEIGHBOURS; k <= i + NEIGHBOURS; k++)
			if (k >= 0 && k < EGS_HISTOGRAM_BUCKETS &&
			    own->count[k])
				wide.count[i] = 1;
	for (uint32_t i = 0; i < EGS_HISTOGRAM_BUCKETS; i++)
		wide.total = (uint8_t)(wide.total + wide.count[i]);
	return wide;
}

/* Remove the weight of times up to 'w->from_s'. */
static void cut_weights(struct egs_weights *w)
{
	uint32_t at = egs_histogram_bucket(w->from_s);
	egs_time_t begin = egs_histogram_begin(at);
	egs_time_t end = egs_histogram_begin(at + 1);
	egs_time_t left = end > w->from_s ? end - w->from_s : 0;

	for (uint32_t i = 0; i < at; i++)
		w->bucket[i] = 0;
	w->bucket[at] =
		w->bucket[at] * (uint64_t)left / (uint64_t)(end - begin);
}

static uint64_t sum_weights(const struct egs_weights *w)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < EGS_HISTOGRAM_BUCKETS; i++)
		sum += w->bucket[i];
	return sum;
}

int egs_weights_set(struct egs_weights *w, const struct egs_histogram *own,
		    const struct egs_histogram *prior, uint32_t runs,
		    egs_time_t from_s)
{
	struct egs_histogram wide;

	if (!prior) {
		wide = spread_counts(own);
		prior = &wide;
	}
	for (uint32_t i = 0; i < EGS_HISTOGRAM_BUCKETS; i++)
		w->bucket[i] = ((uint64_t)own->count[i] * prior->total +
				(uint64_t)prior->count[i] * runs) *
			       PARTS;
	w->from_s = from_s;
	if (from_s > 0)
		cut_weights(w);
	return sum_weights(w) ? 0 : -1;
}

/* The time inside bucket 'i' below which the part 'below' of its weight is. */
static egs_time_t divide_bucket(const struct egs_weights *w, uint32_t i,
				uint64_t below)
{
	egs_time_t begin = egs_histogram_begin(i);
	egs_time_t end = egs_histogram_begin(i + 1);

	if (begin < w->from_s)
		begin = w->from_s;
	return begin +
	       (egs_time_t)((uint64_t)(end - begin) * below / w->bucket[i]);
}

egs_time_t egs_weights_quantile(const struct egs_weights *w, uint32_t percent)
{
	uint64_t below = sum_weights(w) * percent / 100;
	uint32_t last = 0;

	for (uint32_t i = 0; i < EGS_HISTOGRAM_BUCKETS; i++) {
		if (!w->bucket[i])
			continue;
		if (below <= w->bucket[i])
			return divide_bucket(w, i, below);
		below -= w->bucket[i];
		last = i;
	}
	return egs_histogram_begin(last + 1);
}
