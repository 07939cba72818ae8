/* metrics.c - the text of metrics: labels, limits, counters over restarts */
#include <stdlib.h>

#include "common/base/array.h"
#include "policyd/metrics/metrics.h"
#include "t/lib/unit/tap.h"

enum { JOBS, BUSY, WAIT, UP, ROWS };

static const uint32_t bounds[] = { 1, 10, 0 };

static const struct egs_metric table[ROWS] = {
	[JOBS] = { "x_jobs",
		   EGS_METRIC_GAUGE,
		   3,
		   "Jobs.",
		   { "team", "why" },
		   NULL },
	[BUSY] = { "x_busy_seconds_total",
		   EGS_METRIC_COUNTER,
		   3,
		   "Time.",
		   { "team" },
		   NULL },
	[WAIT] = { "x_wait_seconds",
		   EGS_METRIC_HISTOGRAM,
		   3,
		   "Waits.",
		   { "tier" },
		   bounds },
	[UP] = { "x_up", EGS_METRIC_GAUGE, 0, "Up.", { NULL }, NULL },
};

static struct egs_metrics *m;
static char *text;

/* Format the set into 'text'. */
static void format(void)
{
	struct egs_buf buf = { .used = 0 };

	egs_metrics_format(m, &buf);
	free(text);
	text = strndup(buf.bytes, buf.used);
	egs_buf_clear(&buf);
}

static bool has_line(const char *line)
{
	size_t len = strlen(line);

	for (const char *at = text; (at = strstr(at, line)); at += len)
		if ((at == text || at[-1] == '\n') && at[len] == '\n')
			return true;
	note("%s", text);
	return false;
}

static int count_lines(const char *start)
{
	int n = 0;

	for (const char *at = text; (at = strstr(at, start)); at++)
		n += at == text || at[-1] == '\n';
	return n;
}

static void test_text(void)
{
	format();
	is_str(text, "# EOF\n", "a set without values is an empty text");
	egs_metrics_add(m, UP, 1, EGS_NO_LABELS);
	format();
	is_str(text, "# HELP x_up Up.\n# TYPE x_up gauge\nx_up 1\n# EOF\n",
	       "a metric has its help, its type and its value");
	egs_metrics_add(m, JOBS, 1, EGS_LABELS("a", "b"));
	egs_metrics_add(m, JOBS, 0.5, EGS_LABELS("a", "b"));
	format();
	ok(has_line("x_jobs{team=\"a\",why=\"b\"} 1.5"),
	   "values of one series are added up");
	egs_metrics_begin(m);
	format();
	is_str(text, "# EOF\n", "gauges are forgotten before the next measure");
}

static void test_labels(void)
{
	static const struct {
		const char *value, *line;
	} cases[] = {
		{ "plain", "x_jobs{team=\"plain\",why=\"\"} 1" },
		{ "a\"b\\c", "x_jobs{team=\"a\\\"b\\\\c\",why=\"\"} 1" },
		{ "a\nb\033[2J", "x_jobs{team=\"a?b?[2J\",why=\"\"} 1" },
		{ "caf\xc3\xa9", "x_jobs{team=\"caf\xc3\xa9\",why=\"\"} 1" },
		{ "\xff\xfe", "x_jobs{team=\"??\",why=\"\"} 1" },
		{ "} 1 # EOF", "x_jobs{team=\"} 1 # EOF\",why=\"\"} 1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		egs_metrics_begin(m);
		egs_metrics_add(m, JOBS, 1, EGS_LABELS(cases[i].value, NULL));
		format();
		ok(has_line(cases[i].line), "a label is escaped: %s",
		   cases[i].line);
	}
}

static void test_limit(void)
{
	char name[16];

	egs_metrics_begin(m);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "team%d", i);
		egs_metrics_add(m, JOBS, 1, EGS_LABELS(name, "x"));
	}
	format();
	is_int(count_lines("x_jobs{"), 4, "a metric has a limit of series");
	ok(has_line("x_jobs{team=\"team2\",why=\"x\"} 1"),
	   "the first series of a full metric are told");
	ok(has_line("x_jobs{team=\"other\",why=\"other\"} 997"),
	   "series over the limit are added up in one");
}

static void test_counters(void)
{
	egs_metrics_begin(m);
	egs_metrics_declare(m, BUSY, EGS_LABELS("b"));
	egs_metrics_add(m, BUSY, 10, EGS_LABELS("a"));
	egs_metrics_add_open(m, BUSY, 5, EGS_LABELS("a"));
	format();
	ok(has_line("x_busy_seconds_total{team=\"b\"} 0"),
	   "a counter may be told before its first event");
	ok(has_line("x_busy_seconds_total{team=\"a\"} 15"),
	   "a counter has what is over and what goes on");
	egs_metrics_begin(m);
	egs_metrics_add(m, BUSY, 4, EGS_LABELS("a"));
	format();
	ok(has_line("x_busy_seconds_total{team=\"a\"} 15"),
	   "a counter does not fall when an end was earlier than thought");
	egs_metrics_add(m, BUSY, 2, EGS_LABELS("a"));
	format();
	ok(has_line("x_busy_seconds_total{team=\"a\"} 16"),
	   "a counter grows again from what it is");
}

static void test_histogram(void)
{
	egs_metrics_observe(m, WAIT, 1, EGS_LABELS("prod"));
	egs_metrics_observe(m, WAIT, 7, EGS_LABELS("prod"));
	egs_metrics_observe(m, WAIT, 99, EGS_LABELS("prod"));
	format();
	ok(has_line("x_wait_seconds_bucket{tier=\"prod\",le=\"1\"} 1"),
	   "a bound counts what is equal to it");
	ok(has_line("x_wait_seconds_bucket{tier=\"prod\",le=\"10\"} 2"),
	   "a bound counts all that is below it");
	ok(has_line("x_wait_seconds_bucket{tier=\"prod\",le=\"+Inf\"} 3"),
	   "the last bound counts everything");
	ok(has_line("x_wait_seconds_sum{tier=\"prod\"} 107"),
	   "a histogram has its sum");
	ok(has_line("x_wait_seconds_count{tier=\"prod\"} 3"),
	   "a histogram has its count");
}

static void restore(const char *from)
{
	egs_metrics_free(m);
	m = egs_metrics_new(table, ROWS);
	egs_metrics_restore(m, from, strlen(from));
	format();
}

static void test_restore(void)
{
	char *before;

	egs_metrics_add(m, BUSY, 3, EGS_LABELS("a\"},x=\"{ 7"));
	egs_metrics_add(m, UP, 1, EGS_NO_LABELS);
	format();
	before = strdup(text);
	is_int((int)egs_metrics_read(before, strlen(before), "x_up"), 1,
	       "a value is read from a text");
	restore(before);
	ok(!strstr(text, "x_up"), "gauges of an earlier set are not restored");
	ok(has_line("x_busy_seconds_total{team=\"a\"} 16"),
	   "a counter continues after a restart");
	ok(has_line("x_busy_seconds_total{team=\"a\\\"},x=\\\"{ 7\"} 3"),
	   "a counter with a hostile label continues after a restart");
	ok(has_line("x_wait_seconds_bucket{tier=\"prod\",le=\"10\"} 2"),
	   "a histogram continues after a restart");
	ok(has_line("x_wait_seconds_sum{tier=\"prod\"} 107"),
	   "the sum of a histogram continues after a restart");
	restore("x_busy_seconds_total{team=\"a\"} -5\n"
		"x_busy_seconds_total{team=\"b\"} nan\n"
		"x_busy_seconds_total{other=\"c\"} 5\n"
		"x_busy_seconds_total{team=\"c\",more=\"d\"} 5\n"
		"x_busy_seconds_total{team=\"e} 5\n"
		"x_busy_seconds_total 5\n"
		"x_wait_seconds_bucket{tier=\"prod\",le=\"11\"} 2\n"
		"x_wait_seconds_bucket{le=\"10\"} 2\n"
		"x_jobs{team=\"a\",why=\"b\"} 1\n}{\n{} {}\n \n# x");
	ok(!strstr(text, "5") && !strstr(text, "x_jobs") &&
		   !strstr(text, "le=\"11\""),
	   "lines that are not of this table are skipped");
	free(before);
}

/* A counter that was full keeps what is in "other". */
static void test_restore_other(void)
{
	char name[16], *before;

	for (int i = 0; i < 9; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		egs_metrics_add(m, BUSY, 2, EGS_LABELS(name));
		egs_metrics_observe(m, WAIT, 5, EGS_LABELS(name));
	}
	format();
	before = strdup(text);
	restore(before);
	is_str(text, before,
	       "counters over the limit continue after a restart");
	ok(strstr(text, "x_busy_seconds_total{team=\"other\"}"),
	   "a full counter has the series other");
	egs_metrics_add(m, BUSY, 1, EGS_LABELS("new"));
	format();
	is_int(count_lines("x_busy_seconds_total{"), 4,
	       "a full counter has no new series after a restart");
	free(before);
}

int main(void)
{
	plan_none();
	m = egs_metrics_new(table, ROWS);
	test_text();
	test_labels();
	test_limit();
	test_counters();
	test_histogram();
	test_restore();
	restore("");
	test_restore_other();
	egs_metrics_free(m);
	free(text);
	return done_testing();
}
