/* buf.c - numbers and strings as bytes */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/fd.h"

#define NO_STRING UINT32_MAX

enum { READ_SIZE = 64 << 10 };

char *egs_buf_reserve(struct egs_buf *buf, size_t n)
{
	if (buf->room - buf->used < n && !buf->failed) {
		size_t room = 2 * buf->room + n + 256;
		char *more = realloc(buf->bytes, room);

		if (more) {
			buf->bytes = more;
			buf->room = room;
		} else {
			buf->failed = true;
		}
	}
	return buf->failed ? NULL : buf->bytes + buf->used;
}

int egs_buf_read_fd(struct egs_buf *buf, int fd, size_t max)
{
	while (buf->used < max) {
		char *to = egs_buf_reserve(buf, READ_SIZE);
		ssize_t n;

		if (!to) {
			errno = ENOMEM;
			return -1;
		}
		n = egs_read_all(fd, to, READ_SIZE);
		if (n < 0)
			return -1;
		buf->used += (size_t)n;
		if (n < READ_SIZE)
			return 0;
	}
	return 1;
}

static void put_raw(struct egs_buf *buf, const void *bytes, size_t n)
{
	char *to = egs_buf_reserve(buf, n);

	if (!to)
		return;
	memcpy(to, bytes, n);
	buf->used += n;
}

void egs_buf_consume(struct egs_buf *buf, size_t n)
{
	if (n && n < buf->used)
		memmove(buf->bytes, buf->bytes + n, buf->used - n);
	buf->used -= n;
}

void egs_buf_put_u32(struct egs_buf *buf, uint32_t value)
{
	put_raw(buf, &value, sizeof(value));
}

void egs_buf_put_u64(struct egs_buf *buf, uint64_t value)
{
	put_raw(buf, &value, sizeof(value));
}

/* Include the NUL, so that a reader can borrow the string in place. */
void egs_buf_put_str(struct egs_buf *buf, const char *text)
{
	uint32_t len = text ? (uint32_t)strlen(text) : NO_STRING;

	egs_buf_put_u32(buf, len);
	if (text)
		put_raw(buf, text, (size_t)len + 1);
}

void egs_buf_put_bytes(struct egs_buf *buf, const char *bytes, size_t n)
{
	egs_buf_put_u32(buf, (uint32_t)n);
	if (n)
		put_raw(buf, bytes, n);
}

void egs_buf_clear(struct egs_buf *buf)
{
	free(buf->bytes);
	*buf = (struct egs_buf){ .bytes = NULL };
}

static const char *get_raw(struct egs_buf_reader *in, size_t n)
{
	const char *at = in->at;

	if (in->failed || in->left < n) {
		in->failed = true;
		return NULL;
	}
	in->at += n;
	in->left -= n;
	return at;
}

uint32_t egs_buf_get_u32(struct egs_buf_reader *in)
{
	const char *at = get_raw(in, sizeof(uint32_t));
	uint32_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

uint64_t egs_buf_get_u64(struct egs_buf_reader *in)
{
	const char *at = get_raw(in, sizeof(uint64_t));
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

const char *egs_buf_get_str(struct egs_buf_reader *in)
{
	uint32_t len = egs_buf_get_u32(in);
	const char *at;

	if (in->failed || len == NO_STRING)
		return NULL;
	at = get_raw(in, (size_t)len + 1);
	if (!at || memchr(at, '\0', (size_t)len + 1) != at + len) {
		in->failed = true;
		return NULL;
	}
	return at;
}

struct egs_buf_reader egs_buf_get_bytes(struct egs_buf_reader *in)
{
	uint32_t n = egs_buf_get_u32(in);
	const char *at = get_raw(in, n);

	return (struct egs_buf_reader){ .at = at, .left = at ? n : 0 };
}
