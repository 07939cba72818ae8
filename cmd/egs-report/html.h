/* html.h - write reports as one HTML page, which needs no other file
 *
 * The file is the page of cmd/web with the reports as data in it.
 *
 *	page = egs_html_begin("week.html", "usage by team", "hpc", &err);
 *	egs_html_add_report(page, &usage, &usage_by_day, "hours", command);
 *	egs_html_add_report(page, &teams, NULL, "hours", command);
 *	rc = egs_html_end(page, &err);
 */
#ifndef EGS_EGS_REPORT_HTML_H
#define EGS_EGS_REPORT_HTML_H

#include "cmd/egs-report/text.h"

struct egs_html_page;

/* Begin a page; 'path' and the other texts must outlive it.  NULL with 'err'
 * set on failure.
 */
struct egs_html_page *egs_html_begin(const char *path, const char *title,
				     const char *cluster, struct egs_err *err);

/* Add a report as a section, and as its plot over time the 'series' (the same
 * report with --every), NULL: none.  The times of both are seconds.  'unit' is
 * the unit of its sums, 'command' prints the same.
 */
void egs_html_add_report(struct egs_html_page *page,
			 const struct egs_report_table *t,
			 const struct egs_report_table *series,
			 const char *unit, const char *command);

/* Finish the page, or remove it; both free it.  egs_html_end() returns 0, or -1
 * with 'err' set.
 */
int egs_html_end(struct egs_html_page *page, struct egs_err *err);
void egs_html_discard(struct egs_html_page *page);

#endif
