/* backup_import.h - what egs-report does beside reports
 *
 * Each returns the exit code of the command.
 */
#ifndef EGS_EGS_REPORT_BACKUP_IMPORT_H
#define EGS_EGS_REPORT_BACKUP_IMPORT_H

#include "cmd/lib/listing.h"

/* Become egs-policyd with these two arguments (the second may be NULL), going
 * by the egs.conf 'conf' (NULL: the site's).  It is the one that was installed
 * or built with this program.  Returns only on failure, and that has been said.
 */
int egs_report_exec_policyd(const char *conf, const char *what,
			    const char *argument);

/* Take history from what sacct -P printed into the file 'operands[0]', or into
 * standard input for "-".
 */
int egs_report_run_import(char **operands, const char *conf);

/* Copy the state of the site to the file 'operands[0]'. */
int egs_report_run_backup(char **operands, const char *conf);

/* Ratings from measured speeds: TYPE=TOKENS[@PRICE] for each type, the first
 * being the one with the rating of 1.  Prices that are not given are those of
 * the egs.conf at 'path' (NULL: the site's, if there is one).
 */
int egs_report_run_rate(char **operands, const char *path,
			const struct egs_listing_style *style);

#endif
