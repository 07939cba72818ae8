/* report_html.c - a report as one page, which needs nothing from outside */
#include "policyd/cmd/report_html.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BARS_MAX = 30, BAR = 22, LEFT = 240, WIDE = 760 };

static const char style[] =
	"body{font:15px/1.5 sans-serif;margin:2em auto;max-width:75em;"
	"padding:0 1em;color:#1a1a1a;background:#fff}"
	"table{border-collapse:collapse;margin:1em 0}"
	"caption{text-align:left;font-weight:bold;padding:.3em 0}"
	"th,td{padding:.25em .8em;border-bottom:1px solid #ccc;"
	"text-align:left}"
	"td.n{text-align:right;font-variant-numeric:tabular-nums}"
	"svg text{font:13px sans-serif;fill:#1a1a1a}"
	"svg rect{fill:#2a6f97}";

static void put_text(const char *text, FILE *out)
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

/* What a row is called: all of its cells before the first number. */
static void put_label(const struct egs_report_table *t, size_t row, FILE *out)
{
	const struct egs_listing *list = &t->list;
	size_t i;

	for (i = 0; i < list->ncolumns && !t->number[i] && !t->time[i]; i++) {
		fputs(i ? " / " : "", out);
		put_text(list->cells[row * list->ncolumns + i].text, out);
	}
}

static void put_bar(const struct egs_report_table *t, size_t row, size_t sum,
		    double most, FILE *out)
{
	const char *text = t->list.cells[row * t->list.ncolumns + sum].text;
	double value = strtod(text, NULL);
	int width = most > 0 ? (int)((WIDE - LEFT - 120) * value / most) : 0;

	fprintf(out, "<text x=\"%d\" y=\"%zu\" text-anchor=\"end\">", LEFT - 8,
		row * BAR + 16);
	put_label(t, row, out);
	fprintf(out,
		"</text><rect x=\"%d\" y=\"%zu\" width=\"%d\" height=\"%d\"/>"
		"<text x=\"%d\" y=\"%zu\">",
		LEFT, row * BAR + 4, width, BAR - 6, LEFT + width + 6,
		row * BAR + 16);
	put_text(text, out);
	fputs("</text>\n", out);
}

static void put_plot(const struct egs_report_table *t, FILE *out)
{
	const struct egs_listing *list = &t->list;
	size_t rows = list->ncolumns ? list->ncells / list->ncolumns : 0;
	size_t sum = egs_report_first_sum(t), i;
	double most = 0, value;

	if (sum >= list->ncolumns || !rows)
		return;
	rows = rows < BARS_MAX ? rows : BARS_MAX;
	for (i = 0; i < rows; i++) {
		value = strtod(list->cells[i * list->ncolumns + sum].text,
			       NULL);
		most = value > most ? value : most;
	}
	fprintf(out,
		"<svg role=\"img\" aria-labelledby=\"plot\" "
		"viewBox=\"0 0 %d %zu\" width=\"%d\" height=\"%zu\">"
		"<title id=\"plot\">",
		WIDE, rows * BAR + 8, WIDE, rows * BAR + 8);
	put_text(list->columns[sum], out);
	fputs("</title>\n", out);
	for (i = 0; i < rows; i++)
		put_bar(t, i, sum, most, out);
	fputs("</svg>\n", out);
}

static void put_table(const struct egs_report_table *t, FILE *out)
{
	const struct egs_listing *list = &t->list;
	size_t column = 0, i;

	fputs("<table><caption>", out);
	put_text(list->name, out);
	fputs("</caption><thead><tr>", out);
	for (i = 0; i < list->ncolumns; i++) {
		fputs("<th scope=\"col\">", out);
		put_text(list->columns[i], out);
		fputs("</th>", out);
	}
	fputs("</tr></thead><tbody>\n", out);
	for (i = 0; i < list->ncells; i++) {
		fprintf(out, "%s<td%s>", column ? "" : "<tr>",
			t->number[column] ? " class=\"n\"" : "");
		put_text(list->cells[i].text, out);
		column = column + 1 < list->ncolumns ? column + 1 : 0;
		fprintf(out, "</td>%s", column ? "" : "</tr>\n");
	}
	fputs("</tbody></table>\n", out);
}

int egs_report_html(const struct egs_report_table *t, const char *title,
		    const char *path, struct egs_err *err)
{
	FILE *out = fopen(path, "we");
	bool failed;

	if (!out)
		return egs_errf(err, "%s: %s", path, strerror(errno));
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head>"
	      "<meta charset=\"utf-8\"><title>",
	      out);
	put_text(title, out);
	fprintf(out, "</title><style>%s</style></head>\n<body><main><h1>",
		style);
	put_text(title, out);
	fputs("</h1>\n", out);
	put_plot(t, out);
	put_table(t, out);
	fputs("</main></body></html>\n", out);
	failed = ferror(out);
	if (fclose(out) != 0 || failed)
		return egs_errf(err, "%s: %s", path, strerror(errno));
	return 0;
}
