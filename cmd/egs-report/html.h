/* html.h - reports as one page, which needs nothing from outside
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

/* NULL with 'err' set on failure. */
FILE *egs_html_begin(const char *path, const char *title, struct egs_err *err);

/* A report as a section: a plot over time where there is a 'series', the same
 * report asked for with --every and plain times, else bars, and the numbers of
 * both as tables.  'unit' is that of its sums.
 */
void egs_html_add_report(FILE *out, const struct egs_report_table *t,
			 const struct egs_report_table *series,
			 const char *unit);

/* Either ends the page: it is whole, or -1 with 'err' set; or there is none. */
int egs_html_end(FILE *out, const char *path, struct egs_err *err);
void egs_html_discard(FILE *out, const char *path);

#endif
