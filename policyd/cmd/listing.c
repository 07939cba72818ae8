/* listing.c - rows of text for a person, a script or a JSON reader */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "policyd/cmd/listing.h"

void egs_listing_add(struct egs_listing *list, const char *text)
{
	if (list->ncells == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		char **cells = realloc(list->cells, room * sizeof(*cells));

		if (!cells) {
			list->failed = true;
			return;
		}
		list->cells = cells;
		list->room = room;
	}
	list->cells[list->ncells] = strdup(text);
	if (list->cells[list->ncells])
		list->ncells++;
	else
		list->failed = true;
}

void egs_listing_clear(struct egs_listing *list)
{
	for (size_t i = 0; i < list->ncells; i++)
		free(list->cells[i]);
	free(list->cells);
	list->cells = NULL;
	list->ncells = list->room = 0;
}

static int width_of(const struct egs_listing *list, size_t column)
{
	size_t width = strlen(list->columns[column]);

	for (size_t i = column; i < list->ncells; i += list->ncolumns)
		if (strlen(list->cells[i]) > width)
			width = strlen(list->cells[i]);
	return (int)width;
}

/* One line; without 'widths' there are bars between the cells.  The last
 * column needs no blanks behind it.
 */
static void print_line(const struct egs_listing *list, const int *widths,
		       const char *const *cells, FILE *out)
{
	for (size_t i = 0; i < list->ncolumns; i++) {
		bool last = i + 1 == list->ncolumns;

		if (widths && !last)
			fprintf(out, "%-*s ", widths[i], cells[i]);
		else
			fprintf(out, "%s%s", cells[i], last ? "\n" : "|");
	}
}

static void print_lines(const struct egs_listing *list,
			const struct egs_listing_style *style, FILE *out)
{
	int widths[EGS_LISTING_COLUMNS_MAX];
	const int *pad = style->parsable ? NULL : widths;

	for (size_t i = 0; i < list->ncolumns; i++)
		widths[i] = width_of(list, i);
	if (!style->no_header)
		print_line(list, pad, list->columns, out);
	for (size_t i = 0; i < list->ncells; i += list->ncolumns)
		print_line(list, pad, (const char *const *)&list->cells[i],
			   out);
}

/* A JSON string; cells are UTF-8 without control characters, but be sure. */
static void print_string(const char *text, bool fold, FILE *out)
{
	fputc('"', out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20)
			fprintf(out, "\\u%04x", c);
		else
			fputc(fold ? tolower(c) : c, out);
	}
	fputc('"', out);
}

static void print_json(const struct egs_listing *list, FILE *out)
{
	fprintf(out, "{");
	print_string(list->name, false, out);
	fprintf(out, ": [");
	for (size_t i = 0; i < list->ncells; i++) {
		size_t column = i % list->ncolumns;

		if (column == 0)
			fprintf(out, "%s\n  {", i ? "," : "");
		else
			fprintf(out, ", ");
		print_string(list->columns[column], true, out);
		fprintf(out, ": ");
		print_string(list->cells[i], false, out);
		if (column + 1 == list->ncolumns)
			fprintf(out, "}");
	}
	fprintf(out, "\n]}\n");
}

int egs_listing_print(const struct egs_listing *list,
		      const struct egs_listing_style *style, FILE *out)
{
	if (list->failed)
		return -1;
	if (style->json)
		print_json(list, out);
	else
		print_lines(list, style, out);
	return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
