/* listing.c - rows of text for a person, a script or a JSON reader */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmd/lib/listing.h"
#include "common/base/suggest.h"

enum {
	WIDTH_MAX = 1000,
	CUT_WIDTH_MIN = 10, /* columns are not cut below this */
	BAR_WIDTH = 20,
	HEADER_SIZE = 128,
};

/* The columns that are printed, in their order. */
struct field_list {
	size_t count;
	struct {
		size_t column;
		int width;  /* 0: as wide as the longest cell */
		bool right; /* aligned right */
		bool cut;   /* below its width: a cut text ends with '+' */
	} list[EGS_LISTING_COLUMNS_MAX];
	size_t bar;  /* column of the bars, 'ncolumns': none */
	double most; /* the longest bar */
};

static void add_cell(struct egs_listing *list, const char *text, bool number)
{
	struct egs_listing_cell cell = { strdup(text), number };

	if (!cell.text ||
	    egs_grow(&list->cells, &list->room, list->ncells + 1) < 0) {
		list->failed = true;
		free(cell.text);
		return;
	}
	egs_make_printable(cell.text);
	list->cells[list->ncells++] = cell;
}

void egs_listing_add(struct egs_listing *list, const char *text)
{
	add_cell(list, text, false);
}

void egs_listing_add_number(struct egs_listing *list, const char *text)
{
	add_cell(list, text, true);
}

void egs_listing_clear(struct egs_listing *list)
{
	for (size_t i = 0; i < list->ncells; i++)
		free(list->cells[i].text);
	free(list->cells);
	list->cells = NULL;
	list->ncells = list->room = 0;
}

/* ---- fields ---- */

static int find_column(const struct egs_listing *list, const char *name,
		       size_t *column, struct egs_err *err)
{
	struct egs_err why;

	for (size_t i = 0; i < list->ncolumns; i++) {
		if (strcasecmp(name, list->columns[i]) == 0) {
			*column = i;
			return 0;
		}
	}
	egs_err_unknown_name(name, "field", list->columns, list->ncolumns,
			     &why);
	return egs_errf(err, "'%s' %s", egs_printable(name).text, why.msg);
}

/* NAME, NAME%WIDTH or NAME%-WIDTH */
static int add_field(const struct egs_listing *list, char *text,
		     struct field_list *fields, struct egs_err *err)
{
	char *percent = strchr(text, '%'), *end = NULL;
	long width = percent ? strtol(percent + 1, &end, 10) : 0;
	size_t column = 0;

	if (percent &&
	    (*end || !width || width < -WIDTH_MAX || width > WIDTH_MAX))
		return egs_errf(err, "'%s' has no width from 1 to %d",
				egs_printable(text).text, WIDTH_MAX);
	if (percent)
		*percent = '\0';
	if (find_column(list, text, &column, err) < 0)
		return -1;
	if (fields->count == EGS_LISTING_COLUMNS_MAX)
		return egs_errf(err, "more than %d fields",
				EGS_LISTING_COLUMNS_MAX);
	fields->list[fields->count].column = column;
	fields->list[fields->count].right = width > 0;
	fields->list[fields->count].cut = false;
	fields->list[fields->count++].width = (int)labs(width);
	return 0;
}

static int read_fields(const struct egs_listing *list, const char *text,
		       struct field_list *fields, struct egs_err *err)
{
	char *copy = strdup(text), *rest = copy, *word;
	int rc = copy ? 0 : egs_errf(err, "out of memory");

	while (rc == 0 && (word = strsep(&rest, ",")))
		rc = add_field(list, word, fields, err);
	free(copy);
	return rc;
}

bool egs_listing_is_for_person(const struct egs_listing_style *style)
{
	return !style->json && !style->csv && !style->parsable;
}

static int choose_fields(const struct egs_listing *list,
			 const struct egs_listing_style *style,
			 struct field_list *fields, struct egs_err *err)
{
	fields->count = 0;
	fields->bar = list->ncolumns;
	if (style->fields)
		return read_fields(list, style->fields, fields, err);
	if (list->shown && !style->all && egs_listing_is_for_person(style))
		return read_fields(list, list->shown, fields, err);
	for (size_t i = 0; i < list->ncolumns; i++) {
		fields->list[i].column = i;
		fields->list[i].width = 0;
		fields->list[i].right = fields->list[i].cut = false;
	}
	fields->count = list->ncolumns;
	return 0;
}

int egs_listing_check_fields(const struct egs_listing *list,
			     const struct egs_listing_style *style,
			     struct egs_err *err)
{
	struct field_list fields;

	return choose_fields(list, style, &fields, err);
}

/* ---- lines ---- */

/* The number of characters that a terminal shows. */
static int measure_text(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

/* The number of bytes of the first 'width' characters. */
static int count_cut_bytes(const char *text, int width)
{
	const char *at = text;

	for (; *at; at++)
		if (((unsigned char)*at & 0xc0) != 0x80 && width-- == 0)
			break;
	return (int)(at - text);
}

/* The name of a column with its unit: "COST(EUR)". */
static const char *format_header(const struct egs_listing *list, size_t column,
				 char text[HEADER_SIZE])
{
	const char *name = list->columns[column], *at = list->units;
	size_t len = strlen(name);

	for (; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (strncmp(at, name, len) == 0 && at[len] == '=')
			break;
	if (!at || !*at)
		return name;
	at += len + 1;
	snprintf(text, HEADER_SIZE, "%s(%.*s)", name, (int)strcspn(at, ","),
		 at);
	egs_make_printable(text);
	return text;
}

static int measure_column(const struct egs_listing *list, size_t column)
{
	char header[HEADER_SIZE];
	int width = measure_text(format_header(list, column, header));

	for (size_t i = column; i < list->ncells; i += list->ncolumns)
		if (measure_text(list->cells[i].text) > width)
			width = measure_text(list->cells[i].text);
	return width;
}

/* Has the column numbers only?  "-" stands for no value. */
static bool has_numbers(const struct egs_listing *list, size_t column)
{
	bool some = false;

	for (size_t i = column; i < list->ncells; i += list->ncolumns) {
		if (!list->cells[i].is_number &&
		    strcmp(list->cells[i].text, "-") != 0)
			return false;
		some |= list->cells[i].is_number;
	}
	return some;
}

static void align_fields(const struct egs_listing *list,
			 struct field_list *fields)
{
	for (size_t i = 0; i < fields->count; i++) {
		size_t column = fields->list[i].column;

		if (fields->list[i].width)
			continue;
		fields->list[i].width = measure_column(list, column);
		fields->list[i].right = has_numbers(list, column);
	}
}

static int measure_line(const struct field_list *fields)
{
	int width = (int)fields->count - 1;

	for (size_t i = 0; i < fields->count; i++)
		width += fields->list[i].width;
	return width;
}

/* Cut the widest texts, one character at a time, until a line fits. */
static void fit_line(struct field_list *fields)
{
	while (measure_line(fields) > EGS_LISTING_WIDTH) {
		size_t widest = fields->count;

		for (size_t i = 0; i < fields->count; i++)
			if (!fields->list[i].right &&
			    fields->list[i].width > CUT_WIDTH_MIN &&
			    (widest == fields->count ||
			     fields->list[i].width >
				     fields->list[widest].width))
				widest = i;
		if (widest == fields->count)
			return;
		fields->list[widest].width--;
		fields->list[widest].cut = true;
	}
}

/* Choose the column of the bars, if a line has room for them. */
static void choose_bar(const struct egs_listing *list, const char *bar,
		       struct field_list *fields)
{
	double value;

	if (!bar || measure_line(fields) + 1 + BAR_WIDTH > EGS_LISTING_WIDTH ||
	    find_column(list, bar, &fields->bar, NULL) < 0)
		return;
	fields->most = 0;
	for (size_t i = fields->bar; i < list->ncells; i += list->ncolumns)
		if ((value = strtod(list->cells[i].text, NULL)) > fields->most)
			fields->most = value;
}

static void print_bar(const struct egs_listing_cell *cell, double most,
		      FILE *out)
{
	double value = strtod(cell->text, NULL);

	fputc(' ', out);
	for (int i = 0; most > 0 && i < BAR_WIDTH * value / most; i++)
		fputs("\xe2\x96\x88", out); /* a block */
}

/* Print field 'i' of a line, padded if 'pad'. */
static void print_cell(const struct field_list *fields, size_t i,
		       const char *text, bool pad, FILE *out)
{
	int width = fields->list[i].width, shown = measure_text(text);
	int blanks = width > shown ? width - shown : 0;
	bool right = fields->list[i].right;
	bool plus = fields->list[i].cut && shown > width;

	fprintf(out, "%*s%.*s%s%*s", right ? blanks : 0, "",
		count_cut_bytes(text, width - plus), text, plus ? "+" : "",
		right || !pad ? 0 : blanks, "");
}

/* The header of field 'i', without a unit that does not fit. */
static const char *choose_header(const struct egs_listing *list,
				 const struct field_list *fields, size_t i,
				 char text[HEADER_SIZE])
{
	size_t column = fields->list[i].column;
	const char *header = format_header(list, column, text);

	return measure_text(header) > fields->list[i].width
		       ? list->columns[column]
		       : header;
}

/* A '|' in a name must not look like the end of a column. */
static void print_parsable_cell(const char *text, FILE *out)
{
	for (; *text; text++)
		fputc(*text == '|' ? '?' : *text, out);
}

/* One row, or the header if it is NULL. */
static void print_parsable_line(const struct egs_listing *list,
				const struct field_list *fields,
				const struct egs_listing_cell *row, FILE *out)
{
	for (size_t i = 0; i < fields->count; i++) {
		size_t column = fields->list[i].column;

		if (i)
			fputc('|', out);
		print_parsable_cell(
			row ? row[column].text : list->columns[column], out);
	}
	fputc('\n', out);
}

static void print_padded_line(const struct egs_listing *list,
			      const struct field_list *fields,
			      const struct egs_listing_cell *row, FILE *out)
{
	bool bar = row && fields->bar < list->ncolumns;
	char header[HEADER_SIZE];

	for (size_t i = 0; i < fields->count; i++) {
		if (i)
			fputc(' ', out);
		print_cell(fields, i,
			   row ? row[fields->list[i].column].text
			       : choose_header(list, fields, i, header),
			   bar || i + 1 < fields->count, out);
	}
	if (bar)
		print_bar(&row[fields->bar], fields->most, out);
	fputc('\n', out);
}

/* Would a spreadsheet take the text for a formula?  "-" stands for no value. */
static bool is_formula(const char *text)
{
	return *text && strchr("=+-@\t\r", *text) && strcmp(text, "-") != 0;
}

/* RFC 4180, with newline as the end of a line. */
static void print_csv_line(const struct egs_listing *list,
			   const struct field_list *fields,
			   const struct egs_listing_cell *row, FILE *out)
{
	for (size_t i = 0; i < fields->count; i++) {
		size_t column = fields->list[i].column;
		const char *c = row ? row[column].text : list->columns[column];
		bool quote = strpbrk(c, "\",\n\r") != NULL;
		bool formula = row && !row[column].is_number && is_formula(c);

		fprintf(out, "%s%s%s", i ? "," : "", quote ? "\"" : "",
			formula ? "'" : "");
		for (; *c; c++)
			fprintf(out, "%s%c", *c == '"' ? "\"" : "", *c);
		fprintf(out, "%s", quote ? "\"" : "");
	}
	fputc('\n', out);
}

static void print_csv(const struct egs_listing *list,
		      const struct egs_listing_style *style,
		      const struct field_list *fields, FILE *out)
{
	if (!style->no_header)
		print_csv_line(list, fields, NULL, out);
	for (size_t i = 0; i < list->ncells; i += list->ncolumns)
		print_csv_line(list, fields, &list->cells[i], out);
}

static void print_parsable(const struct egs_listing *list,
			   const struct egs_listing_style *style,
			   const struct field_list *fields, FILE *out)
{
	if (!style->no_header)
		print_parsable_line(list, fields, NULL, out);
	for (size_t i = 0; i < list->ncells; i += list->ncolumns)
		print_parsable_line(list, fields, &list->cells[i], out);
}

static void print_padded(const struct egs_listing *list,
			 const struct egs_listing_style *style,
			 struct field_list *fields, FILE *out)
{
	align_fields(list, fields);
	if (!style->fields && !style->all)
		fit_line(fields);
	choose_bar(list, style->bar, fields);
	if (!style->no_header)
		print_padded_line(list, fields, NULL, out);
	if (!style->no_header && style->header_end)
		fputs(style->header_end, out);
	for (size_t i = 0; i < list->ncells; i += list->ncolumns)
		print_padded_line(list, fields, &list->cells[i], out);
}

/* ---- JSON ---- */

/* Cells have no control characters. */
static void print_json_string(const char *text, bool lower_case, FILE *out)
{
	fputc('"', out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else
			fputc(lower_case ? tolower(c) : c, out);
	}
	fputc('"', out);
}

static void print_json_object(const struct egs_listing *list,
			      const struct field_list *fields,
			      const struct egs_listing_cell *row, FILE *out)
{
	for (size_t i = 0; i < fields->count; i++) {
		size_t column = fields->list[i].column;

		fprintf(out, i ? ", " : "\n  {");
		print_json_string(list->columns[column], true, out);
		fprintf(out, ": ");
		if (row[column].is_number)
			fprintf(out, "%s", row[column].text);
		else
			print_json_string(row[column].text, false, out);
	}
	fprintf(out, "}");
}

static void print_json(const struct egs_listing *list, const char *head,
		       const struct field_list *fields, FILE *out)
{
	fprintf(out, "{%s", head ? head : "");
	print_json_string(list->name, false, out);
	fprintf(out, ": [");
	for (size_t i = 0; i < list->ncells; i += list->ncolumns) {
		fprintf(out, "%s", i ? "," : "");
		print_json_object(list, fields, &list->cells[i], out);
	}
	fprintf(out, "\n]}\n");
}

int egs_listing_print(const struct egs_listing *list,
		      const struct egs_listing_style *style, FILE *out,
		      struct egs_err *err)
{
	struct field_list fields;

	if (list->failed)
		return egs_errf(err, "out of memory");
	if (choose_fields(list, style, &fields, err) < 0)
		return -1;
	if (style->json)
		print_json(list, style->json_head, &fields, out);
	else if (style->csv)
		print_csv(list, style, &fields, out);
	else if (style->parsable)
		print_parsable(list, style, &fields, out);
	else
		print_padded(list, style, &fields, out);
	if (fflush(out) != 0 || ferror(out))
		return egs_errf(err, "the listing could not be written");
	return 0;
}
