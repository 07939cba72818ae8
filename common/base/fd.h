/* fd.h - read and write all bytes of a file descriptor */
#ifndef EGS_BASE_FD_H
#define EGS_BASE_FD_H

#include <stddef.h>
#include <sys/types.h>

/* Read until the end of the file or until 'size' bytes are there.  Signals do
 * not interrupt it.  Returns the number of bytes, or -1 with errno set.
 */
ssize_t egs_read_all(int fd, void *bytes, size_t size);

/* Write all 'len' bytes.  Signals do not interrupt it.  Returns 0, or -1 with
 * errno set.
 */
int egs_write_all(int fd, const void *bytes, size_t len);

#endif
