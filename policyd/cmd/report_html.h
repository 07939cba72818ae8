/* report_html.h - a report as one page, which needs nothing from outside */
#ifndef EGS_CMD_REPORT_HTML_H
#define EGS_CMD_REPORT_HTML_H

#include "policyd/cmd/report_print.h"

/* Write the report to the file 'path': its table, and a plot of the first of
 * its sums.  0, or -1 with 'err' set.
 */
int egs_report_html(const struct egs_report_table *table, const char *title,
		    const char *path, struct egs_err *err);

#endif
