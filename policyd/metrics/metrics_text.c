/* metrics_text.c - write a set of metrics as text, and read its counters */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/metrics/metrics_internal.h"

/* ---- write ---- */

__attribute__((format(printf, 2, 3))) static void
append_text(struct egs_buf *text, const char *fmt, ...)
{
	size_t room = EGS_METRIC_TEXT_SIZE + 256;
	char *to = egs_buf_reserve(text, room);
	va_list ap;
	int n;

	if (!to)
		return;
	va_start(ap, fmt);
	n = vsnprintf(to, room, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < room)
		text->used += (size_t)n;
}

static void append_value(struct egs_buf *text, const char *name,
			 const char *suffix, const char *labels, double value)
{
	append_text(text, "%s%s%s%s%s %.15g\n", name, suffix,
		    *labels ? "{" : "", labels, *labels ? "}" : "", value);
}

static void format_histogram(const struct egs_metric *metric,
			     const struct egs_metric_series *series,
			     const char *labels, struct egs_buf *text)
{
	size_t n = egs_metrics_count_bounds(metric);
	const char *comma = *labels ? "," : "";

	for (size_t i = 0; i < n; i++)
		append_text(text, "%s_bucket{%s%sle=\"%u\"} %" PRIu64 "\n",
			    metric->name, labels, comma, metric->bound[i],
			    series->count[i]);
	append_text(text, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n",
		    metric->name, labels, comma, series->count[n]);
	append_value(text, metric->name, "_sum", labels, series->value);
	append_value(text, metric->name, "_count", labels,
		     (double)series->count[n]);
}

static void format_series(const struct egs_metric *metric,
			  struct egs_metric_series *series, const char *labels,
			  struct egs_buf *text)
{
	double value = series->value + series->open;

	if (metric->type == EGS_METRIC_HISTOGRAM) {
		format_histogram(metric, series, labels, text);
		return;
	}
	if (metric->type == EGS_METRIC_COUNTER && value < series->shown)
		value = series->shown;
	series->shown = value;
	append_value(text, metric->name, "", labels, value);
}

static void format_family(const struct egs_metric *metric,
			  struct egs_metric_family *f, struct egs_buf *text)
{
	static const char *const types[] = {
		[EGS_METRIC_GAUGE] = "gauge",
		[EGS_METRIC_COUNTER] = "counter",
		[EGS_METRIC_HISTOGRAM] = "histogram",
	};

	if (!f->is_set && !f->labels.count)
		return;
	append_text(text, "# HELP %s %s\n# TYPE %s %s\n", metric->name,
		    metric->help, metric->name, types[metric->type]);
	for (uint32_t i = 0; i <= f->labels.count && i < f->room; i++)
		if (i || f->is_set)
			format_series(metric, &f->series[i],
				      egs_intern_get(&f->labels, i), text);
}

void egs_metrics_format(struct egs_metrics *m, struct egs_buf *text)
{
	for (size_t i = 0; i < m->n; i++)
		format_family(&m->table[i], &m->family[i], text);
	append_text(text, "# EOF\n");
}

/* ---- read ---- */

/* NAME{LABELS} VALUE or NAME VALUE, in a copy. */
struct sample {
	char *name, *labels, *value;
};

static bool split_line(char *line, struct sample *sample)
{
	char *space = strrchr(line, ' '), *brace = strchr(line, '{');

	if (*line == '#' || !space || space == line)
		return false;
	*space = '\0';
	*sample = (struct sample){ line, space, space + 1 };
	if (!brace)
		return true;
	if (space[-1] != '}')
		return false;
	space[-1] = *brace = '\0';
	sample->labels = brace + 1;
	return true;
}

/* Skip NAME="VALUE"; NULL: there is another label, or none. */
static const char *skip_label(const char *text, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(text, name, len) != 0 || strncmp(text + len, "=\"", 2) != 0)
		return NULL;
	for (text += len + 2; *text && *text != '"'; text++)
		if (*text == '\\' && text[1])
			text++;
	return *text ? text + 1 : NULL;
}

/* Are the labels those of the metric?  Returns what follows them, or NULL. */
static const char *skip_labels(const struct egs_metric *metric,
			       const char *text)
{
	for (size_t i = 0; i < EGS_METRIC_LABELS_MAX && metric->label[i]; i++) {
		if (i && *text++ != ',')
			return NULL;
		text = skip_label(text, metric->label[i]);
		if (!text)
			return NULL;
	}
	return text;
}

/* The place in a histogram of the last label, le="BOUND". */
static int64_t find_bound(const struct egs_metric *metric, const char *text)
{
	size_t n = egs_metrics_count_bounds(metric);
	char le[32];

	if (strcmp(text, "le=\"+Inf\"") == 0)
		return (int64_t)n;
	for (size_t i = 0; i < n; i++) {
		snprintf(le, sizeof(le), "le=\"%u\"", metric->bound[i]);
		if (strcmp(text, le) == 0)
			return (int64_t)i;
	}
	return -1;
}

static void restore_bucket(struct egs_metrics *m, unsigned int metric,
			   const struct sample *sample)
{
	const char *rest = skip_labels(&m->table[metric], sample->labels);
	bool comma = m->table[metric].label[0];
	struct egs_metric_series *series;
	int64_t at;

	if (!rest || (comma && *rest != ','))
		return;
	at = find_bound(&m->table[metric], rest + comma);
	sample->labels[rest - sample->labels] = '\0';
	series = at < 0 ? NULL
			: egs_metrics_get_series(m, metric, sample->labels);
	if (series)
		series->count[at] = strtoull(sample->value, NULL, 10);
}

static void restore_value(struct egs_metrics *m, unsigned int metric,
			  const struct sample *sample)
{
	const char *rest = skip_labels(&m->table[metric], sample->labels);
	struct egs_metric_series *series =
		rest && !*rest
			? egs_metrics_get_series(m, metric, sample->labels)
			: NULL;
	double value = strtod(sample->value, NULL);

	if (!series || !(value >= 0 && value < 1e18))
		return;
	series->value = value;
	if (m->table[metric].type == EGS_METRIC_COUNTER)
		series->shown = value;
}

static void restore_sample(struct egs_metrics *m, const struct sample *sample)
{
	for (unsigned int i = 0; i < m->n; i++) {
		const struct egs_metric *metric = &m->table[i];
		size_t len = strlen(metric->name);
		const char *suffix = sample->name + len;

		if (strncmp(sample->name, metric->name, len) != 0)
			continue;
		if (metric->type == EGS_METRIC_COUNTER && !*suffix)
			restore_value(m, i, sample);
		if (metric->type != EGS_METRIC_HISTOGRAM)
			continue;
		if (strcmp(suffix, "_bucket") == 0)
			restore_bucket(m, i, sample);
		else if (strcmp(suffix, "_sum") == 0)
			restore_value(m, i, sample);
	}
}

/* Call 'fn' with each sample of the text. */
static void each_sample(const char *text, size_t len,
			void (*fn)(void *arg, const struct sample *sample),
			void *arg)
{
	char line[EGS_METRIC_TEXT_SIZE];
	struct sample sample;

	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;

		if (n < sizeof(line)) {
			memcpy(line, text, n);
			line[n] = '\0';
			if (split_line(line, &sample))
				fn(arg, &sample);
		}
		n += end != NULL;
		text += n;
		len -= n;
	}
}

static void restore_each(void *arg, const struct sample *sample)
{
	restore_sample(arg, sample);
}

void egs_metrics_restore(struct egs_metrics *m, const char *text, size_t len)
{
	each_sample(text, len, restore_each, m);
}

struct wanted_value {
	const char *name;
	double value;
};

static void find_value(void *arg, const struct sample *sample)
{
	struct wanted_value *wanted = arg;

	if (strcmp(sample->name, wanted->name) == 0 && !*sample->labels)
		wanted->value = strtod(sample->value, NULL);
}

double egs_metrics_read(const char *text, size_t len, const char *name)
{
	struct wanted_value wanted = { .name = name };

	each_sample(text, len, find_value, &wanted);
	return wanted.value;
}
