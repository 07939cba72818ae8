/* frame.h - the messages between the daemon and its worker
 *
 * A frame is its length, a kind and what belongs to it, all written by buf.h.
 */
#ifndef EGS_SLURM_FRAME_H
#define EGS_SLURM_FRAME_H

#include "common/base/buf.h"

/* No frame is longer: a job with a long comment is far below. */
#define EGS_FRAME_MAX (4U << 20)

enum egs_frame_kind {
	/* requests */
	EGS_FRAME_POLL = 1, /* u32 anew */
	EGS_FRAME_READ_JOB, /* u32 job id */
	EGS_FRAME_ACT,	    /* u64 id, u32 act, str job, str again */
	EGS_FRAME_RESIZE,   /* u32 job id, uid, gpus, keep cores, cancel, next,
		       looked, str open */
	/* answers; a request is over with one of the last four */
	EGS_FRAME_JOB,	       /* job fact */
	EGS_FRAME_NODE,	       /* node fact */
	EGS_FRAME_OPERATOR,    /* u32 uid, str name (NULL: that was the last) */
	EGS_FRAME_POLL_DONE,   /* u32 ok, u32 unchanged, u32 ms, str why,
			  str cluster */
	EGS_FRAME_READ_DONE,   /* u32 job id, u32 known (2: failed) [, job fact]
				*/
	EGS_FRAME_ACT_DONE,    /* u64 id, str why */
	EGS_FRAME_RESIZE_DONE, /* u32 job id, u32 end, str text */
};

/* Open a frame of 'kind' at the end of the buffer, and close the one opened
 * last; between them its contents are written.
 */
void egs_frame_begin(struct egs_buf *buf, enum egs_frame_kind kind);
void egs_frame_end(struct egs_buf *buf);

/* The frame at the start of 'n' bytes: returns its whole length with '*kind'
 * and '*in' set, 0 if it is not complete, -1 if it is none.
 */
long egs_frame_parse(const char *bytes, size_t n, enum egs_frame_kind *kind,
		     struct egs_buf_reader *in);

#endif
