/* sd_notify.h - tell the service manager how we are, as sd_notify(3) does */
#ifndef EGS_DAEMON_SD_NOTIFY_H
#define EGS_DAEMON_SD_NOTIFY_H

/* Send 'state', such as "READY=1", to $NOTIFY_SOCKET.  Never blocks; without
 * a manager that wants to know nothing is done.
 */
void egs_sd_notify(const char *state);

#endif
