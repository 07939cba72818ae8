/* import_sacct.h - import history from before EGS, as sacct prints it */
#ifndef EGS_ACCOUNTING_IMPORT_SACCT_H
#define EGS_ACCOUNTING_IMPORT_SACCT_H

/* Read the output of sacct -P from standard input and add it to the history in
 * StateDir.  A daemon may run meanwhile.  Runs that the history has are
 * skipped, so a second import changes nothing.  egs-report starts
 * egs-policyd for this.  Returns the exit code of the process.
 */
int egs_import_sacct_main(const char *conf_path);

#endif
