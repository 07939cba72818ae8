/* connect.h - connect to the daemon before it is too late
 *
 * A deadline is in milliseconds of the steady clock, egs_connect_now_ms().
 */
#ifndef EGS_IPC_CONNECT_H
#define EGS_IPC_CONNECT_H

#include <stdint.h>

#include "common/base/err.h"

uint64_t egs_connect_now_ms(void);

/* Wait for the file: 0, or -1 with errno set, to ETIMEDOUT after the deadline.
 */
int egs_connect_wait_fd(int fd, short events, uint64_t deadline_ms);

/* Connect to the Unix socket at 'path': a file that does not block, or -1 with
 * errno set.
 */
int egs_connect_unix(const char *path, uint64_t deadline_ms);

/* Connect to the first that can be reached of 'hosts', HOST:PORT or [HOST]:PORT
 * with commas between: a file that does not block, or -1 with 'err' set to what
 * is wrong with the last one.  Name servers may take longer than the deadline.
 */
int egs_connect_hosts(const char *hosts, uint64_t deadline_ms,
		      struct egs_err *err);

#endif
