/* worker_internal.h - what the daemon and its worker send each other
 *
 * Both ends are one program on one host.  The daemon sends a request as the
 * struct that it is.  The worker answers with frames: a length, a kind, and
 * contents written by buf.h.
 */
#ifndef EGS_SLURM_WORKER_INTERNAL_H
#define EGS_SLURM_WORKER_INTERNAL_H

#include "common/base/buf.h"
#include "common/hint/resume_info.h"
#include "policyd/slurm/worker.h"

/* Room for a job as Slurm writes it: 12, 12_3. */
#define EGS_WORKER_JOB_MAX 64

enum egs_worker_request_kind {
	EGS_WORKER_POLL,
	EGS_WORKER_READ_JOB,
	EGS_WORKER_ACT,
	EGS_WORKER_RESIZE,
	EGS_WORKER_DRAIN,
};

struct egs_worker_request {
	enum egs_worker_request_kind kind;
	bool full_poll;	    /* POLL: also what has not changed */
	uint32_t job_id;    /* READ_JOB */
	uint32_t action;    /* ACT: enum egs_worker_action and its flags */
	uint64_t action_id; /* ACT: comes back with the answer */
	char job[EGS_WORKER_JOB_MAX];	       /* ACT */
	char resume_info[EGS_RESUME_INFO_MAX]; /* ACT, "": none */
	struct egs_resize_params resize;
	struct egs_drain_params drain;
};

/* Limit of a frame; a job with a long comment is far smaller. */
#define EGS_FRAME_MAX (4U << 20)

/* The last five end a request. */
enum egs_frame_kind {
	EGS_FRAME_JOB = 1,     /* job fact */
	EGS_FRAME_NODE,	       /* node fact */
	EGS_FRAME_OPERATOR,    /* u32 uid, str name (NULL: end of the list) */
	EGS_FRAME_COORDINATOR, /* u32 uid, str name (NULL: end of the list), str
				* account */
	EGS_FRAME_NAME,	       /* u32 kind, str name (NULL: end of the list) */
	EGS_FRAME_POLL_DONE,   /* u32 ok, u32 unchanged, u32 ms, str error,
				* str cluster
				*/
	EGS_FRAME_READ_DONE,   /* u32 job id, u32 known (2: failed) [, job fact]
				*/
	EGS_FRAME_ACT_DONE,    /* u64 id, str error */
	EGS_FRAME_RESIZE_DONE, /* u32 job id, u32 outcome, str text */
	EGS_FRAME_DRAIN_DONE,  /* u32 outcome, str text */
};

/* Open a frame at the end of the buffer; close the frame opened last.  The
 * contents are written in between.
 */
void egs_frame_begin(struct egs_buf *buf, enum egs_frame_kind kind);
void egs_frame_end(struct egs_buf *buf);

/* Read the frame at the start of 'n' bytes.  Returns its whole length with
 * '*kind' and '*in' set, 0 if it is incomplete, -1 if it is invalid.
 */
long egs_frame_parse(const char *bytes, size_t n, enum egs_frame_kind *kind,
		     struct egs_buf_reader *in);

#endif
