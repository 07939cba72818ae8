/* import_sacct.h - history from before EGS, as sacct prints it
 *
 * egs-report starts egs-policyd for this; the code returned is that of the
 * process.
 */
#ifndef EGS_ACCOUNTING_IMPORT_SACCT_H
#define EGS_ACCOUNTING_IMPORT_SACCT_H

/* Read what sacct -P printed from standard input into the history in StateDir.
 * A daemon may be running.  Runs that are there already are passed over, so all
 * may be imported twice.
 */
int egs_import_sacct_main(const char *conf_path);

#endif
