/* connect.h - connect to the daemon, within a deadline
 *
 * A deadline is in milliseconds of the steady clock, egs_now_ms().
 */
#ifndef EGS_IPC_CONNECT_H
#define EGS_IPC_CONNECT_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

/* Wait until 'fd' is ready.  Returns 0, or -1 with errno set; ETIMEDOUT: the
 * deadline is over.
 */
int egs_connect_wait_fd(int fd, short events, uint64_t deadline_ms);

/* Connect to the Unix socket at 'path'.  Returns a non-blocking file
 * descriptor, or -1 with errno set.
 */
int egs_connect_unix(const char *path, uint64_t deadline_ms);

/* Connect to HOST:PORT or [HOST]:PORT, of 'len' bytes.  Returns a non-blocking
 * file descriptor, or -1 with 'err' set.  Name servers may exceed the deadline.
 */
int egs_connect_host(const char *at, size_t len, uint64_t deadline_ms,
		     struct egs_err *err);

#endif
