/* buf.h - numbers and strings as bytes, for two processes on one host
 *
 * A buffer grows while it is written.  A reader walks bytes that it does not
 * own.  Both remember the first failure, so a caller writes or reads everything
 * and checks 'failed' once at the end.  Numbers are in the byte order of the
 * host.
 */
#ifndef EGS_BASE_BUF_H
#define EGS_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is an empty buffer.  'failed': out of memory.  'frame_start' is for
 * callers that write frames: the offset of the current frame.
 */
struct egs_buf {
	char *bytes;
	size_t used, room, frame_start;
	bool failed;
};

void egs_buf_put_u32(struct egs_buf *buf, uint32_t value);
void egs_buf_put_u64(struct egs_buf *buf, uint64_t value);

/* NULL and "" stay different. */
void egs_buf_put_str(struct egs_buf *buf, const char *text);

/* Put the number of bytes, then the bytes. */
void egs_buf_put_bytes(struct egs_buf *buf, const char *bytes, size_t n);

/* Drop the first 'n' bytes. */
void egs_buf_consume(struct egs_buf *buf, size_t n);

/* Make room for 'n' more bytes.  Returns its address, or NULL without memory.
 * The caller writes there and adds the number of bytes to 'used'.
 */
char *egs_buf_reserve(struct egs_buf *buf, size_t n);

/* Append all bytes of 'fd' until its end.  Returns 0, or -1 with errno set.
 * Returns 1 if 'buf' has 'max' bytes or more before the end.
 */
int egs_buf_read_fd(struct egs_buf *buf, int fd, size_t max);

/* Free the bytes and make the buffer empty. */
void egs_buf_clear(struct egs_buf *buf);

/* The bytes still to read.  'failed': there were too few bytes, or a string was
 * not valid.
 */
struct egs_buf_reader {
	const char *at;
	size_t left;
	bool failed;
};

/* These return 0 after a failure. */
uint32_t egs_buf_get_u32(struct egs_buf_reader *in);
uint64_t egs_buf_get_u64(struct egs_buf_reader *in);

/* A reader of the bytes that egs_buf_put_bytes() wrote. */
struct egs_buf_reader egs_buf_get_bytes(struct egs_buf_reader *in);

/* A string, borrowed from the bytes that are read; NULL after a failure. */
const char *egs_buf_get_str(struct egs_buf_reader *in);

#endif
