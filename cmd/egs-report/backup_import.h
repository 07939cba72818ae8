/* backup_import.h - import, backup and rate of egs-report
 *
 * Each function prints its errors and returns the exit code of the command.
 */
#ifndef EGS_EGS_REPORT_BACKUP_IMPORT_H
#define EGS_EGS_REPORT_BACKUP_IMPORT_H

#include "cmd/lib/listing.h"

/* Execute the egs-policyd that was installed or built with this program.  Its
 * arguments are 'what' and 'argument' (may be NULL), its egs.conf is 'conf'
 * (NULL: the site's).  Returns only on failure.
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
 * first type has rating 1.  A missing price is read from the egs.conf at 'path'
 * (NULL: the site's, if there is one).
 */
int egs_report_run_rate(char **operands, const char *path,
			const struct egs_listing_style *style);

#endif
