/* frame.c - the messages between the daemon and its worker */
#include <string.h>

#include "policyd/slurm/frame.h"

enum { HEAD = 2 * sizeof(uint32_t) };

void egs_frame_begin(struct egs_buf *buf, enum egs_frame kind)
{
	buf->open = buf->used;
	egs_buf_u32(buf, 0);
	egs_buf_u32(buf, kind);
}

void egs_frame_end(struct egs_buf *buf)
{
	uint32_t len = (uint32_t)(buf->used - buf->open);

	if (!buf->failed)
		memcpy(buf->bytes + buf->open, &len, sizeof(len));
}

long egs_frame_next(const char *bytes, size_t n, enum egs_frame *kind,
		    struct egs_read *in)
{
	struct egs_read head = { .at = bytes, .left = n };
	uint32_t len = egs_read_u32(&head), what = egs_read_u32(&head);

	if (head.failed)
		return 0;
	if (len < HEAD || len > EGS_FRAME_MAX || what < EGS_ASK_POLL ||
	    what > EGS_SAY_SIZED)
		return -1;
	if (n < len)
		return 0;
	*kind = what;
	*in = (struct egs_read){ .at = bytes + HEAD, .left = len - HEAD };
	return len;
}
