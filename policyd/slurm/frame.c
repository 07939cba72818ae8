/* frame.c - the messages between the daemon and its worker */
#include <string.h>

#include "policyd/slurm/frame.h"

enum { HEAD_SIZE = 2 * sizeof(uint32_t) };

void egs_frame_begin(struct egs_buf *buf, enum egs_frame_kind kind)
{
	buf->frame_start = buf->used;
	egs_buf_put_u32(buf, 0);
	egs_buf_put_u32(buf, kind);
}

void egs_frame_end(struct egs_buf *buf)
{
	uint32_t len = (uint32_t)(buf->used - buf->frame_start);

	if (!buf->failed)
		memcpy(buf->bytes + buf->frame_start, &len, sizeof(len));
}

long egs_frame_parse(const char *bytes, size_t n, enum egs_frame_kind *kind,
		     struct egs_buf_reader *in)
{
	struct egs_buf_reader head = { .at = bytes, .left = n };
	uint32_t len = egs_buf_get_u32(&head), what = egs_buf_get_u32(&head);

	if (head.failed)
		return 0;
	if (len < HEAD_SIZE || len > EGS_FRAME_MAX || what < EGS_FRAME_POLL ||
	    what > EGS_FRAME_RESIZE_DONE)
		return -1;
	if (n < len)
		return 0;
	*kind = what;
	*in = (struct egs_buf_reader){ .at = bytes + HEAD_SIZE,
				       .left = len - HEAD_SIZE };
	return len;
}
