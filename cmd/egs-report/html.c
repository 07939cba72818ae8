/* html.c - write reports as one self-contained HTML page */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/egs-report/html.h"
#include "cmd/egs-report/svg_plot.h"

enum { BARS_MAX = 30, BAR_HEIGHT = 22, LEFT = 240, WIDTH = 760 };

/* The policy forbids requests, even if a cell of a table is not escaped. */
static const char page_head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	"<meta name=\"viewport\" content=\"width=device-width\">"
	"<meta http-equiv=\"Content-Security-Policy\" "
	"content=\"default-src 'none'; style-src 'unsafe-inline'\">"
	"<title>";

static const char page_css[] =
	"body{font:15px/1.5 sans-serif;margin:2em auto;max-width:75em;"
	"padding:0 1em;color:#1a1a1a;background:#fff}"
	"h1{font-size:1.5em}h2{font-size:1.2em;margin-top:2em}"
	"figure{margin:1em 0}figcaption,caption{text-align:left;"
	"font-weight:bold;padding:.3em 0}"
	"table{border-collapse:collapse;margin:1em 0}"
	"th,td{padding:.25em .8em;border-bottom:1px solid #ccc;"
	"text-align:left}"
	"td.n{text-align:right;font-variant-numeric:tabular-nums}";

void egs_html_escape(const char *text, FILE *out)
{
	for (; *text; text++)
		switch (*text) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fputc(*text, out);
		}
}

static const char *get_cell(const struct egs_report_table *t, size_t row,
			    size_t column)
{
	return t->list.cells[row * t->list.ncolumns + column].text;
}

static size_t count_rows(const struct egs_report_table *t)
{
	return t->list.ncolumns ? t->list.ncells / t->list.ncolumns : 0;
}

/* The column of that name; the number of columns if there is none. */
static size_t find_column(const struct egs_report_table *t, const char *name)
{
	size_t i = 0;

	while (i < t->list.ncolumns && strcmp(t->list.columns[i], name) != 0)
		i++;
	return i;
}

/* Label of a row: its texts before the first number. */
static void format_label(const struct egs_report_table *t, size_t row,
			 char *text, size_t size)
{
	size_t at = 0, i;

	*text = '\0';
	for (i = 0; i < t->list.ncolumns && !t->is_number[i] && at < size; i++)
		if (!t->is_time[i])
			at += (size_t)snprintf(text + at, size - at, "%s%s",
					       at ? " / " : "",
					       get_cell(t, row, i));
}

static void put_bar(const struct egs_report_table *t, size_t row, size_t sum,
		    double most, FILE *out)
{
	const char *text = get_cell(t, row, sum);
	double value = strtod(text, NULL);
	int width = most > 0 ? (int)((WIDTH - LEFT - 120) * value / most) : 0;
	char name[128];

	format_label(t, row, name, sizeof(name));
	fprintf(out, "<text x=\"%d\" y=\"%zu\" text-anchor=\"end\">", LEFT - 8,
		row * BAR_HEIGHT + 16);
	egs_html_escape(name, out);
	fprintf(out,
		"</text><rect class=\"c0\" x=\"%d\" y=\"%zu\" width=\"%d\" "
		"height=\"%d\"/><text x=\"%d\" y=\"%zu\">",
		LEFT, row * BAR_HEIGHT + 4, width, BAR_HEIGHT - 6,
		LEFT + width + 6, row * BAR_HEIGHT + 16);
	egs_html_escape(text, out);
	fputs("</text>\n", out);
}

/* Draw the first column of sums as bars. */
static void put_bars(const struct egs_report_table *t, FILE *out)
{
	size_t sum = egs_report_table_find_sum(t), rows = count_rows(t), i;
	double most = 0, value;

	if (sum >= t->list.ncolumns || !rows)
		return;
	rows = rows < BARS_MAX ? rows : BARS_MAX;
	for (i = 0; i < rows; i++) {
		value = strtod(get_cell(t, i, sum), NULL);
		most = value > most ? value : most;
	}
	fprintf(out,
		"<figure><figcaption>%s</figcaption><svg role=\"img\" "
		"aria-label=\"%s; the numbers are in the table below\" "
		"viewBox=\"0 0 %d %zu\" width=\"%d\" height=\"%zu\">\n",
		t->list.columns[sum], t->list.columns[sum], WIDTH,
		rows * BAR_HEIGHT + 8, WIDTH, rows * BAR_HEIGHT + 8);
	for (i = 0; i < rows; i++)
		put_bar(t, i, sum, most, out);
	fputs("</svg></figure>\n", out);
}

/* Write a time, which is seconds since the epoch. */
static void put_time(const char *text, FILE *out)
{
	time_t at = strtoll(text, NULL, 10);
	char local[32];
	struct tm tm;

	if (text[strspn(text, "0123456789")] || at <= 0) {
		egs_html_escape(text, out);
		return;
	}
	strftime(local, sizeof(local), "%Y-%m-%dT%H:%M:%S",
		 localtime_r(&at, &tm));
	fputs(local, out);
}

static void put_table(const struct egs_report_table *t, const char *caption,
		      FILE *out)
{
	const struct egs_listing *list = &t->list;
	size_t at = 0, i;

	fprintf(out, "<table><caption>%s</caption><thead><tr>", caption);
	for (i = 0; i < list->ncolumns; i++)
		fprintf(out, "<th scope=\"col\">%s</th>", list->columns[i]);
	fputs("</tr></thead><tbody>\n", out);
	for (i = 0; i < list->ncells; i++) {
		fprintf(out, "%s<td%s>", at ? "" : "<tr>",
			t->is_number[at] ? " class=\"n\"" : "");
		if (t->is_time[at])
			put_time(list->cells[i].text, out);
		else
			egs_html_escape(list->cells[i].text, out);
		at = at + 1 < list->ncolumns ? at + 1 : 0;
		fprintf(out, "</td>%s", at ? "" : "</tr>\n");
	}
	fputs("</tbody></table>\n", out);
}

static struct egs_svg_plot init_plot(const struct egs_report_table *series,
				     const char *title, bool stacked)
{
	return (struct egs_svg_plot){
		.title = title,
		.from = series->from,
		.to = series->to,
		.step_s = series->every_s,
		.stacked = stacked,
	};
}

/* Name the series in the order of the table, the largest first. */
static void put_usage_plot(const struct egs_report_table *t,
			   const struct egs_report_table *series,
			   const char *unit, FILE *out)
{
	const size_t sum = find_column(series, "GPUTIME");
	char title[128], name[96];
	struct egs_svg_plot plot;

	snprintf(title, sizeof(title), "GPU time used, in %s", unit);
	plot = init_plot(series, title, true);
	for (size_t i = 0; i < count_rows(t); i++) {
		format_label(t, i, name, sizeof(name));
		egs_svg_plot_add(&plot, name, series->from, 0);
	}
	for (size_t i = 0; i < count_rows(series); i++) {
		format_label(series, i, name, sizeof(name));
		egs_svg_plot_add(&plot, name,
				 strtoll(get_cell(series, i, 0), NULL, 10),
				 strtod(get_cell(series, i, sum), NULL));
	}
	egs_svg_plot_write(&plot, out);
	egs_svg_plot_clear(&plot);
}

/* Plot columns 'first' to 'last' of the rows with scope "gpu". */
static void put_column_plot(const struct egs_report_table *series, size_t first,
			    size_t last, const char *title, bool stacked,
			    FILE *out)
{
	struct egs_svg_plot plot = init_plot(series, title, stacked);
	size_t i, c;

	for (i = 0; i < count_rows(series); i++)
		for (c = first;
		     c <= last && strcmp(get_cell(series, i, 1), "gpu") == 0;
		     c++)
			egs_svg_plot_add(
				&plot, series->list.columns[c],
				strtoll(get_cell(series, i, 0), NULL, 10),
				strtod(get_cell(series, i, c), NULL));
	egs_svg_plot_write(&plot, out);
	egs_svg_plot_clear(&plot);
}

static void put_wastage_plots(const struct egs_report_table *series,
			      const char *unit, FILE *out)
{
	const size_t wr = find_column(series, "WR");
	const size_t wasted = find_column(series, "WASTED");
	char title[128];

	if (wasted + 1 >= series->list.ncolumns)
		return;
	put_column_plot(series, wr, wr + 2, "Wastage Ratio of all GPUs", false,
			out);
	snprintf(title, sizeof(title), "GPU time wasted by cause, in %s", unit);
	put_column_plot(series, wasted + 1, series->list.ncolumns - 1, title,
			true, out);
}

void egs_html_add_report(FILE *out, const struct egs_report_table *t,
			 const struct egs_report_table *series,
			 const char *unit)
{
	const bool wastage = strcmp(t->list.name, "wastage") == 0;

	fputs("<section><h2>", out);
	egs_html_escape(t->list.name, out);
	fputs("</h2>\n", out);
	if (series && wastage)
		put_wastage_plots(series, unit, out);
	else if (series)
		put_usage_plot(t, series, unit, out);
	else
		put_bars(t, out);
	put_table(t, t->list.name, out);
	if (series) {
		fputs("<details><summary>The same over time</summary>\n", out);
		put_table(series, "over time", out);
		fputs("</details>\n", out);
	}
	fputs("</section>\n", out);
}

FILE *egs_html_begin(const char *path, const char *title, struct egs_err *err)
{
	FILE *out = fopen(path, "we");

	if (!out) {
		egs_errf(err, "%s: %s", path, strerror(errno));
		return NULL;
	}
	fputs(page_head, out);
	egs_html_escape(title, out);
	fprintf(out, "</title><style>%s%s</style></head>\n<body><main><h1>",
		page_css, egs_svg_plot_css);
	egs_html_escape(title, out);
	fputs("</h1>\n", out);
	return out;
}

int egs_html_end(FILE *out, const char *path, struct egs_err *err)
{
	bool failed;

	fputs("</main></body></html>\n", out);
	failed = ferror(out);
	if (fclose(out) != 0 || failed)
		return egs_errf(err, "%s: %s", path, strerror(errno));
	return 0;
}

void egs_html_discard(FILE *out, const char *path)
{
	fclose(out);
	unlink(path);
}
