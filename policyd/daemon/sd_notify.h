/* sd_notify.h - report our state to the service manager, as sd_notify(3) does
 */
#ifndef EGS_DAEMON_SD_NOTIFY_H
#define EGS_DAEMON_SD_NOTIFY_H

/* Send 'state', such as "READY=1", to $NOTIFY_SOCKET. Never blocks; does
 * nothing without a service manager.
 */
void egs_sd_notify(const char *state);

#endif
