/* metrics.c - numbers with labels */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/text.h"
#include "policyd/metrics/metrics_internal.h"

struct egs_metrics *egs_metrics_new(const struct egs_metric *table, size_t n)
{
	struct egs_metrics *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->table = table;
	m->n = n;
	m->family = calloc(n, sizeof(*m->family));
	if (m->family)
		return m;
	free(m);
	return NULL;
}

/* Forget all series; the array is kept for those to come. */
static void clear_family(struct egs_metric_family *f)
{
	egs_intern_clear(&f->labels);
	if (f->series)
		memset(f->series, 0, f->room * sizeof(f->series[0]));
	f->is_set = false;
}

void egs_metrics_free(struct egs_metrics *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++) {
		clear_family(&m->family[i]);
		free(m->family[i].series);
	}
	free(m->family);
	free(m);
}

void egs_metrics_begin(struct egs_metrics *m)
{
	for (size_t i = 0; i < m->n; i++) {
		struct egs_metric_family *f = &m->family[i];

		if (m->table[i].type == EGS_METRIC_GAUGE)
			clear_family(f);
		for (uint32_t k = 0; k < f->room; k++)
			f->series[k].open = 0;
	}
}

/* Append ,NAME="VALUE" and escape what the format reserves. */
static size_t append_label(char *text, size_t used, const char *name,
			   const char *value)
{
	const struct egs_printable shown = egs_printable(value);

	used += (size_t)snprintf(text + used, EGS_METRIC_TEXT_SIZE - used,
				 "%s%s=\"", used ? "," : "", name);
	for (const char *c = shown.text; *c; c++) {
		if (*c == '"' || *c == '\\')
			text[used++] = '\\';
		text[used++] = *c;
	}
	text[used++] = '"';
	text[used] = '\0';
	return used;
}

/* 'labels' of NULL: all are "other". */
static void format_labels(const struct egs_metric *metric,
			  const char *const *labels,
			  char text[EGS_METRIC_TEXT_SIZE])
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < EGS_METRIC_LABELS_MAX && metric->label[i]; i++)
		used = append_label(text, used, metric->label[i],
				    labels ? labels[i] : "other");
}

/* The series "other" is beyond the 'max' of its metric. */
static bool may_add(const struct egs_metrics *m, unsigned int metric,
		    const char *labels)
{
	char other[EGS_METRIC_TEXT_SIZE];

	if (m->family[metric].labels.count < m->table[metric].max)
		return true;
	format_labels(&m->table[metric], NULL, other);
	return strcmp(labels, other) == 0;
}

struct egs_metric_series *egs_metrics_get_series(struct egs_metrics *m,
						 unsigned int metric,
						 const char *labels)
{
	struct egs_metric_family *f = &m->family[metric];
	uint32_t number = egs_intern_find(&f->labels, labels);

	if (!number && *labels && may_add(m, metric, labels))
		number = egs_intern_add(&f->labels, labels);
	if ((!number && *labels) ||
	    egs_grow(&f->series, &f->room, number + 1) < 0)
		return NULL;
	f->is_set |= !number;
	return &f->series[number];
}

static struct egs_metric_series *find_series(struct egs_metrics *m,
					     unsigned int metric,
					     const char *const *labels)
{
	char text[EGS_METRIC_TEXT_SIZE];
	struct egs_metric_series *series;

	format_labels(&m->table[metric], labels, text);
	series = egs_metrics_get_series(m, metric, text);
	if (series)
		return series;
	format_labels(&m->table[metric], NULL, text);
	return egs_metrics_get_series(m, metric, text);
}

void egs_metrics_declare(struct egs_metrics *m, unsigned int metric,
			 const char *const *labels)
{
	find_series(m, metric, labels);
}

void egs_metrics_add(struct egs_metrics *m, unsigned int metric, double value,
		     const char *const *labels)
{
	struct egs_metric_series *series = find_series(m, metric, labels);

	if (series)
		series->value += value;
}

void egs_metrics_add_open(struct egs_metrics *m, unsigned int metric,
			  double value, const char *const *labels)
{
	struct egs_metric_series *series = find_series(m, metric, labels);

	if (series)
		series->open += value;
}

size_t egs_metrics_count_bounds(const struct egs_metric *metric)
{
	size_t n = 0;

	while (metric->bound && metric->bound[n] && n < EGS_METRIC_BOUNDS_MAX)
		n++;
	return n;
}

void egs_metrics_observe(struct egs_metrics *m, unsigned int metric,
			 double seconds, const char *const *labels)
{
	struct egs_metric_series *series = find_series(m, metric, labels);
	size_t n = egs_metrics_count_bounds(&m->table[metric]);

	if (!series)
		return;
	for (size_t i = 0; i < n; i++)
		series->count[i] += seconds <= m->table[metric].bound[i];
	series->count[n]++;
	series->value += seconds;
}
