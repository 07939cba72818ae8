/* fd.h - read, write and lock a file descriptor */
#ifndef EGS_BASE_FD_H
#define EGS_BASE_FD_H

#include <stddef.h>
#include <sys/types.h>

/* Read until the end of the file or until 'size' bytes are read.  A signal does
 * not end the call.  Returns the number of bytes, or -1 with errno set.
 */
ssize_t egs_read_all(int fd, void *bytes, size_t size);

/* Write all 'len' bytes.  A signal does not end the call.  Returns 0, or -1
 * with errno set.
 */
int egs_write_all(int fd, const void *bytes, size_t len);

/* Lock the file of 'fd' for this process and its children.  If a daemon is
 * killed, a child that it has just forked holds the lock for another moment.
 * So the call waits up to two seconds.  Returns 0, or -1 with errno set;
 * EWOULDBLOCK: another process has the lock.
 */
int egs_lock_file(int fd);

#endif
