/* html.c - write reports as one HTML page, which needs no other file
 *
 * The data is {"title": ..., "sections": [...]}, as report.js reads it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/egs-report/html.h"
#include "cmd/web/page.h"

struct egs_html_page {
	FILE *file;
	const char *path;
	FILE *json; /* the data so far, in: */
	char *text;
	size_t len;
	int64_t from, to; /* of the last report */
	bool has_section;
};

static void put_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < ' ')
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void put_pair(FILE *out, const char *key, const char *value)
{
	fprintf(out, "\"%s\":", key);
	put_string(out, value);
	fputc(',', out);
}

/* The numbers of the columns that are set in 'list'. */
static void put_column_numbers(FILE *out, const char *key, const bool *list,
			       size_t n)
{
	const char *between = "";

	fprintf(out, "\"%s\":[", key);
	for (size_t i = 0; i < n; i++)
		if (list[i]) {
			fprintf(out, "%s%zu", between, i);
			between = ",";
		}
	fputs("],", out);
}

static void put_rows(FILE *out, const struct egs_listing *list)
{
	fputs("\"rows\":[", out);
	for (size_t i = 0; list->ncolumns && i < list->ncells; i++) {
		size_t column = i % list->ncolumns;

		fputs(column ? "," : i ? ",[" : "[", out);
		if (list->cells[i].is_number)
			fputs(list->cells[i].text, out);
		else
			put_string(out, list->cells[i].text);
		fputs(column + 1 == list->ncolumns ? "]" : "", out);
	}
	fputc(']', out);
}

static void put_table(FILE *out, const struct egs_report_table *t)
{
	const size_t n = t->list.ncolumns;

	fputs("\"columns\":[", out);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? "," : "", out);
		put_string(out, t->list.columns[i]);
	}
	fputs("],", out);
	put_column_numbers(out, "numbers", t->is_number, n);
	put_column_numbers(out, "times", t->is_time, n);
	put_rows(out, &t->list);
}

void egs_html_add_report(struct egs_html_page *page,
			 const struct egs_report_table *t,
			 const struct egs_report_table *series,
			 const char *unit, const char *command)
{
	FILE *out = page->json;

	page->from = t->from;
	page->to = t->to;
	fputs(page->has_section ? ",{" : "{", out);
	page->has_section = true;
	put_pair(out, "name", t->list.name);
	put_pair(out, "unit", unit);
	put_pair(out, "command", command);
	fprintf(out, "\"sum\":%zu,", egs_report_table_find_sum(t));
	if (series) {
		fprintf(out, "\"series\":{\"every\":%" PRId64 ",",
			series->every_s);
		put_table(out, series);
		fputs("},", out);
	}
	put_table(out, t);
	fputc('}', out);
}

static void free_page(struct egs_html_page *page)
{
	if (page->file)
		fclose(page->file);
	if (page->json)
		fclose(page->json);
	free(page->text);
	free(page);
}

struct egs_html_page *egs_html_begin(const char *path, const char *title,
				     const char *cluster, struct egs_err *err)
{
	struct egs_html_page *page = calloc(1, sizeof(*page));

	if (page)
		page->json = open_memstream(&page->text, &page->len);
	if (!page || !page->json) {
		egs_errf(err, "out of memory");
		free(page);
		return NULL;
	}
	page->path = path;
	page->file = fopen(path, "we");
	if (!page->file) {
		egs_errf(err, "%s: %s", path, strerror(errno));
		free_page(page);
		return NULL;
	}
	fputc('{', page->json);
	put_pair(page->json, "title", title);
	put_pair(page->json, "cluster", cluster);
	fprintf(page->json, "\"made\":%" PRId64 ",\"sections\":[",
		(int64_t)time(NULL));
	return page;
}

int egs_html_end(struct egs_html_page *page, struct egs_err *err)
{
	bool failed;
	int rc = 0;

	fprintf(page->json, "],\"from\":%" PRId64 ",\"to\":%" PRId64 "}",
		page->from, page->to);
	failed = fclose(page->json) != 0;
	page->json = NULL;
	if (!failed)
		egs_page_write(page->file, page->text);
	failed |= ferror(page->file) != 0;
	if (fclose(page->file) != 0 || failed)
		rc = egs_errf(err, "%s: %s", page->path, strerror(errno));
	page->file = NULL;
	free_page(page);
	return rc;
}

void egs_html_discard(struct egs_html_page *page)
{
	unlink(page->path);
	free_page(page);
}
