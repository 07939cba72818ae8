/* text.c - print a report as a table */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/egs-report/text.h"
#include "common/base/list.h"

/* Copy 'text' as the content of a JSON string.  It fits: 'to' has room for
 * twice 'max' bytes.
 */
static void format_json_text(char *to, const char *text, size_t max)
{
	for (; *text && max--; text++) {
		if (*text == '"' || *text == '\\')
			*to++ = '\\';
		*to++ = *text;
	}
	*to = '\0';
}

enum { CURRENCY_MAX = 64, SUMMARY_MAX = 256 };

static void set_json_head(struct egs_report_table *t,
			  const struct egs_msg *answer)
{
	int64_t version = 0, from = 0, to = 0;
	const char *currency = egs_msg_get_str(answer, "currency");
	const char *summary = egs_msg_get_str(answer, "summary");
	char shown[2 * CURRENCY_MAX + 1], text[2 * SUMMARY_MAX + 1];

	egs_msg_get_int(answer, "version", &version);
	egs_msg_get_int(answer, "from", &from);
	egs_msg_get_int(answer, "to", &to);
	egs_msg_get_int(answer, "every", &t->every_s);
	t->from = from;
	t->to = to;
	snprintf(t->summary, sizeof(t->summary), "%s", summary ? summary : "");
	for (char *c = t->summary; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	format_json_text(text, t->summary, SUMMARY_MAX);
	format_json_text(shown, egs_printable(currency ? currency : "").text,
			 CURRENCY_MAX);
	snprintf(t->json_head, sizeof(t->json_head),
		 "\"version\": %" PRId64 ", \"from\": %" PRId64
		 ", \"to\": %" PRId64 ", \"currency\": \"%s\", %s%s%s",
		 version, from, to, shown, *text ? "\"summary\": \"" : "", text,
		 *text ? "\", " : "");
}

/* NULL without a value; without memory all columns are shown. */
static char *copy_value(const struct egs_msg *answer, const char *key)
{
	const char *value = egs_msg_get_str(answer, key);

	return value ? strdup(value) : NULL;
}

static int set_columns(struct egs_report_table *t, const struct egs_msg *answer,
		       size_t n, struct egs_err *err)
{
	const char *name = egs_msg_get_str(answer, "report");
	size_t room = 1, i;
	char *at;

	for (i = 0; i < n; i++)
		room += strlen(egs_msg_get_column(answer, i)) + 1;
	t->name_buf = malloc(room + (name ? strlen(name) : 0) + 1);
	if (!t->name_buf)
		return egs_errf(err, "out of memory");
	at = t->name_buf;
	for (i = 0; i < n; i++) {
		const char *column = egs_msg_get_column(answer, i);

		t->names[i] = memcpy(at, column, strlen(column) + 1);
		egs_make_printable(at);
		at += strlen(at) + 1;
		t->is_number[i] = egs_list_has(
			egs_msg_get_str(answer, "numbers"), t->names[i]);
		t->is_time[i] = egs_list_has(egs_msg_get_str(answer, "times"),
					     t->names[i]);
	}
	t->list.name = at;
	memcpy(at, name ? name : "", name ? strlen(name) + 1 : 1);
	t->list.columns = t->names;
	t->list.ncolumns = n;
	t->list.shown = t->shown = copy_value(answer, "shown");
	t->list.units = t->units = copy_value(answer, "units");
	set_json_head(t, answer);
	return 0;
}

enum { TIME_SIZE = 32 };

/* Local time, "-" for 0. */
static const char *format_time(time_t when, char text[TIME_SIZE])
{
	struct tm tm;

	snprintf(text, TIME_SIZE, "-");
	if (when && localtime_r(&when, &tm))
		strftime(text, TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	return text;
}

static void add_time_cell(struct egs_report_table *t, const char *text)
{
	char local[TIME_SIZE];

	egs_listing_add(&t->list, format_time(strtoll(text, NULL, 10), local));
}

int egs_report_table_add(struct egs_report_table *t,
			 const struct egs_msg *answer, bool plain,
			 struct egs_err *err)
{
	size_t columns, rows, i;
	bool number;

	if (egs_msg_check_table(answer, &columns, &rows, err) < 0)
		return -1;
	if (columns >= EGS_LISTING_COLUMNS_MAX)
		return egs_errf(err, "the report has too many columns");
	if (!t->name_buf && set_columns(t, answer, columns, err) < 0)
		return -1;
	for (i = 0; i < rows * columns; i++) {
		const char *text = egs_msg_get_cell(answer, i / columns,
						    i % columns, &number);

		if (t->is_time[i % columns] && !plain)
			add_time_cell(t, text);
		else if (number ||
			 (t->is_number[i % columns] && strcmp(text, "-") != 0))
			egs_listing_add_number(&t->list, text);
		else
			egs_listing_add(&t->list, text);
	}
	return 0;
}

void egs_report_table_clear(struct egs_report_table *t)
{
	egs_listing_clear(&t->list);
	free(t->name_buf);
	free(t->shown);
	free(t->units);
	t->name_buf = t->shown = t->units = NULL;
}

size_t egs_report_table_find_sum(const struct egs_report_table *t)
{
	for (size_t i = 0; i < t->list.ncolumns && i < t->list.ncells; i++)
		if (t->is_number[i] && strchr(t->list.cells[i].text, '.'))
			return i;
	return t->list.ncolumns;
}

static void print_empty(const struct egs_report_table *t)
{
	char from[TIME_SIZE], to[TIME_SIZE];

	fprintf(stderr, "egs-report: %s: no rows from %s to %s\n", t->list.name,
		format_time(t->from, from), format_time(t->to, to));
}

int egs_report_table_print(struct egs_report_table *t,
			   const struct egs_listing_style *style,
			   struct egs_err *err)
{
	struct egs_listing_style own = *style;
	bool person = egs_listing_is_for_person(style) && !style->no_header;
	bool terminal = person && isatty(STDOUT_FILENO) && !style->fields;
	size_t sum = egs_report_table_find_sum(t);
	int rc;

	own.json_head = t->json_head;
	if (person && !t->list.ncells && !t->list.failed) {
		rc = egs_listing_check_fields(&t->list, style, err);
		if (rc == 0)
			print_empty(t);
		return rc;
	}
	if (terminal) {
		fputs("\033[1m", stdout);
		own.header_end = "\033[0m";
		own.bar = sum < t->list.ncolumns ? t->names[sum] : NULL;
	}
	rc = egs_listing_print(&t->list, &own, stdout, err);
	if (rc == 0 && *t->summary && person)
		puts(t->summary);
	return rc;
}
