/* backup.h - copy the state, also while the daemon writes it */
#ifndef EGS_STORE_BACKUP_H
#define EGS_STORE_BACKUP_H

/* Copy the state, as it is at one moment, to 'path'.  egs-report starts
 * egs-policyd for this.  Returns the exit code of the process.
 */
int egs_backup_main(const char *conf_path, const char *path);

#endif
