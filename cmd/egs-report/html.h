/* html.h - write reports as one self-contained HTML page
 *
 *	page = egs_html_begin("week.html", "the week", &err);
 *	egs_html_add_report(page, &usage, &usage_by_day, "hours");
 *	egs_html_add_report(page, &teams, NULL, "hours");
 *	rc = egs_html_end(page, "week.html", &err);
 */
#ifndef EGS_EGS_REPORT_HTML_H
#define EGS_EGS_REPORT_HTML_H

#include <stdio.h>

#include "cmd/egs-report/text.h"

/* Begin a page.  NULL with 'err' set on failure. */
FILE *egs_html_begin(const char *path, const char *title, struct egs_err *err);

/* Add a report as a section: a plot over time if there is a 'series' (the same
 * report with --every and plain times), else bars; then both as tables.
 * 'unit' is the unit of its sums.
 */
void egs_html_add_report(FILE *out, const struct egs_report_table *t,
			 const struct egs_report_table *series,
			 const char *unit);

/* Finish the page, or remove it.  egs_html_end() returns 0, or -1 with 'err'
 * set.
 */
int egs_html_end(FILE *out, const char *path, struct egs_err *err);
void egs_html_discard(FILE *out, const char *path);

/* Write 'text' with <, >, & and " escaped. */
void egs_html_escape(const char *text, FILE *out);

#endif
