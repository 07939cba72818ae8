/* import_sacct.h - history from before EGS, and a copy of all of it
 *
 * Both are other lives of egs-policyd, started by egs-report; the codes they
 * return are those of the process.
 */
#ifndef EGS_ACCOUNTING_IMPORT_SACCT_H
#define EGS_ACCOUNTING_IMPORT_SACCT_H

/* Read what sacct -P printed from standard input into the history in StateDir.
 * A daemon may be running.  Runs that are there already are passed over, so all
 * may be imported twice.
 */
int egs_import_main(const char *conf_path);

/* Copy the state to 'path', as it is at one moment, beside a daemon or not. */
int egs_backup_main(const char *conf_path, const char *path);

#endif
