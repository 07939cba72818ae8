/* backup.h - a copy of the state, beside a daemon that writes it or not */
#ifndef EGS_STORE_BACKUP_H
#define EGS_STORE_BACKUP_H

/* Copy the state to 'path', as it is at one moment.  egs-report starts
 * egs-policyd for this; the code returned is that of the process.
 */
int egs_backup_main(const char *conf_path, const char *path);

#endif
