/* text.c - print a report as a table */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/egs-report/text.h"
#include "common/base/list.h"

enum { BAR_WIDTH = 20 };

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
	set_json_head(t, answer);
	return 0;
}

static void add_time_cell(struct egs_report_table *t, const char *text)
{
	time_t when = strtoll(text, NULL, 10);
	char local[32] = "-";
	struct tm tm;

	if (when && localtime_r(&when, &tm))
		strftime(local, sizeof(local), "%Y-%m-%dT%H:%M:%S", &tm);
	egs_listing_add(&t->list, local);
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
	t->name_buf = NULL;
}

size_t egs_report_table_find_sum(const struct egs_report_table *t)
{
	for (size_t i = 0; i < t->list.ncolumns && i < t->list.ncells; i++)
		if (t->is_number[i] && strchr(t->list.cells[i].text, '.'))
			return i;
	return t->list.ncolumns;
}

/* Print the table with a bar at the end of each row. */
static int print_with_bars(struct egs_report_table *t, size_t column,
			   const struct egs_listing_style *style,
			   struct egs_err *err)
{
	const size_t n = t->list.ncolumns;
	struct egs_listing with = t->list;
	double most = 0, value;
	size_t i, b;
	int rc;

	for (i = column; i < t->list.ncells; i += n)
		if ((value = strtod(t->list.cells[i].text, NULL)) > most)
			most = value;
	t->names[n] = "";
	with.ncolumns = n + 1;
	with.cells = NULL;
	with.ncells = with.room = 0;
	for (i = 0; i < t->list.ncells; i++) {
		char bar[4 * BAR_WIDTH + 1] = "";

		egs_listing_add(&with, t->list.cells[i].text);
		if (i % n != n - 1)
			continue;
		value = strtod(t->list.cells[i - n + 1 + column].text, NULL);
		for (b = 0; most > 0 && b < BAR_WIDTH * value / most; b++)
			memcpy(bar + 3 * b, "█", 4);
		egs_listing_add(&with, bar);
	}
	rc = egs_listing_print(&with, style, stdout, err);
	egs_listing_clear(&with);
	return rc;
}

int egs_report_table_print(struct egs_report_table *t,
			   const struct egs_listing_style *style,
			   struct egs_err *err)
{
	struct egs_listing_style own = *style;
	bool terminal = isatty(STDOUT_FILENO) && !style->json && !style->csv &&
			!style->parsable && !style->fields;
	size_t sum = egs_report_table_find_sum(t);
	int rc;

	own.json_head = t->json_head;
	if (terminal && !style->no_header)
		fputs("\033[1m", stdout);
	if (terminal && !style->no_header)
		own.header_end = "\033[0m";
	rc = terminal && sum < t->list.ncolumns
		     ? print_with_bars(t, sum, &own, err)
		     : egs_listing_print(&t->list, &own, stdout, err);
	if (rc == 0 && *t->summary && !style->json && !style->csv &&
	    !style->parsable && !style->no_header)
		puts(t->summary);
	return rc;
}
