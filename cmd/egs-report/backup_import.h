/* backup_import.h - commands of egs-report that are no reports
 *
 * Each prints its errors and returns the exit code of the command.
 */
#ifndef EGS_EGS_REPORT_BACKUP_IMPORT_H
#define EGS_EGS_REPORT_BACKUP_IMPORT_H

#include "cmd/lib/listing.h"

/* Become the egs-policyd that was installed or built with this program, with
 * two arguments (the second may be NULL) and the egs.conf 'conf' (NULL: the
 * site's).  Returns only on failure.
 */
int egs_report_exec_policyd(const char *conf, const char *what,
			    const char *argument);

/* Import the output of sacct -P from the file 'operands[0]', "-" for standard
 * input.
 */
int egs_report_run_import(char **operands, const char *conf);

/* Copy the state of the site to the file 'operands[0]'. */
int egs_report_run_backup(char **operands, const char *conf);

/* Print ratings from measured speeds: TYPE=TOKENS[@PRICE] for each type.  The
 * first type has rating 1.  Missing prices are those of the egs.conf at 'path'
 * (NULL: the site's, if there is one).
 */
int egs_report_run_rate(char **operands, const char *path,
			const struct egs_listing_style *style);

#endif
