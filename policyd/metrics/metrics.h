/* metrics.h - numbers with labels, as text that Prometheus reads
 *
 * A caller has a table of metrics and keeps their values in a set:
 *
 *	static const struct egs_metric table[] = {
 *		[BLOCKED] = { "egs_blocked_jobs", EGS_METRIC_GAUGE, 512,
 *			      "Jobs that wait.", { "team", "tier" } },
 *	};
 *
 *	egs_metrics_begin(m);
 *	egs_metrics_add(m, BLOCKED, 1, EGS_LABELS("vision", "prod"));
 *	egs_metrics_format(m, &text);
 *
 * A metric has at most 'max' series.  What comes later is added to one series
 * whose labels are all "other", so no name that a user chooses makes the text
 * longer without end.
 *
 * The text is Prometheus' text format 0.0.4 with the line "# EOF" of
 * OpenMetrics at its end.  Prometheus reads it as either format.
 */
#ifndef EGS_METRICS_METRICS_H
#define EGS_METRICS_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"

#define EGS_METRIC_LABELS_MAX 8
#define EGS_METRIC_BOUNDS_MAX 16

enum egs_metric_type {
	EGS_METRIC_GAUGE,
	EGS_METRIC_COUNTER, /* its name ends in _total */
	EGS_METRIC_HISTOGRAM,
};

struct egs_metric {
	const char *name;
	enum egs_metric_type type;
	uint32_t max; /* series */
	const char *help;
	const char *label[EGS_METRIC_LABELS_MAX]; /* NULL after the last */
	const uint32_t *bound; /* of a histogram, rising, 0 after the last */
};

struct egs_metrics;

/* The values of the labels, in the order of the table.  Bytes that a terminal
 * obeys become '?', values are cut at 64 bytes, and NULL is "".
 */
#define EGS_LABELS(...) ((const char *const[]){ __VA_ARGS__ })
#define EGS_NO_LABELS	NULL

/* An empty set; 'table' must outlive it.  NULL: out of memory. */
struct egs_metrics *egs_metrics_new(const struct egs_metric *table, size_t n);
void egs_metrics_free(struct egs_metrics *m);

/* Forget all gauges, and the open part of counters.  Then the caller measures
 * everything again.
 */
void egs_metrics_begin(struct egs_metrics *m);

/* Add to a gauge or a counter.  A value is lost if memory is out. */
void egs_metrics_add(struct egs_metrics *m, unsigned int metric, double value,
		     const char *const *labels);

/* Add to a counter what goes on and is measured again after the next
 * egs_metrics_begin(), such as the time of a job that runs.  When it is over,
 * the caller adds all of it with egs_metrics_add().  A counter never falls: its
 * text keeps the largest value until it is exceeded.
 */
void egs_metrics_add_open(struct egs_metrics *m, unsigned int metric,
			  double value, const char *const *labels);

/* Add a series of 0, if there is none.  Prometheus sees the first event of a
 * counter only if it has seen the 0 before.
 */
void egs_metrics_declare(struct egs_metrics *m, unsigned int metric,
			 const char *const *labels);

/* Count an event of this many seconds in a histogram. */
void egs_metrics_observe(struct egs_metrics *m, unsigned int metric,
			 double seconds, const char *const *labels);

/* Append the text.  Metrics without a series are left out.  Out of memory sets
 * 'text->failed'.
 */
void egs_metrics_format(struct egs_metrics *m, struct egs_buf *text);

/* Load counters and histograms from a text of an earlier set, so that they do
 * not begin at 0 again.  Lines that do not fit the table are skipped.  What was
 * open then is taken as over; the caller subtracts it with egs_metrics_add().
 */
void egs_metrics_restore(struct egs_metrics *m, const char *text, size_t len);

/* The value of a metric without labels in such a text; 0: not found. */
double egs_metrics_read(const char *text, size_t len, const char *name);

#endif
