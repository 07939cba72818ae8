/* metrics_internal.h - structs of a set of metrics; for its own files only */
#ifndef EGS_METRICS_METRICS_INTERNAL_H
#define EGS_METRICS_METRICS_INTERNAL_H

#include "common/base/intern.h"
#include "policyd/metrics/metrics.h"

/* A label has at most 64 bytes and "...", and each may need a backslash. */
#define EGS_METRIC_TEXT_SIZE 2048

struct egs_metric_series {
	double value; /* of a counter: what is over; of a histogram: the sum */
	double open;  /* of a counter: what goes on */
	double shown; /* of a counter: the largest that was printed */
	/* Of a histogram: events up to each bound, then all events. */
	uint64_t count[EGS_METRIC_BOUNDS_MAX + 1];
};

/* The series of a metric.  Their names are the text of their labels, and number
 * 0 is the series of a metric without labels.
 */
struct egs_metric_family {
	struct egs_intern labels;
	struct egs_metric_series *series; /* by number */
	uint32_t room;
	bool is_set; /* number 0 */
};

struct egs_metrics {
	const struct egs_metric *table;
	size_t n;
	struct egs_metric_family *family; /* by row of the table */
};

/* The series with these labels as text, a new one if there is none.  NULL: the
 * metric has its 'max' and the labels are not all "other", or memory is out.
 */
struct egs_metric_series *egs_metrics_get_series(struct egs_metrics *m,
						 unsigned int metric,
						 const char *labels);

/* The number of bounds of a histogram. */
size_t egs_metrics_count_bounds(const struct egs_metric *metric);

#endif
