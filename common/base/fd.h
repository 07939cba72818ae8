/* fd.h - read, write, lock and close file descriptors */
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

/* Close all files of this process but 'keep' and the standard ones: for a child
 * that lives for long, so that it does not hold locks and connections of its
 * parent.
 */
void egs_close_others(int keep);

/* Lock the regular file of 'fd', which is open for writing, for this process
 * alone: a child that it forks does not keep the lock when the process is
 * killed.  The lock ends when the process closes any descriptor of the file.
 * The process that has it may be ending, so the call waits up to two seconds.
 * Returns 0, or -1 with errno set; EWOULDBLOCK: another process has the lock.
 */
int egs_lock_file(int fd);

#endif
