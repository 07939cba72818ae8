/* doorbell.h - the doorbell: plugins inside slurmctld tell the daemon to look
 * now
 *
 * RunDir/doorbell is a datagram socket of the daemon's.  A plugin sends one
 * datagram and does not wait: a full, missing or deaf socket costs it nothing,
 * and a datagram that is lost costs the time until the next look at all jobs.
 * Only the daemon's own user and root can write to it, and what comes is still
 * checked.  Both ends are on one host, so bytes are as the host has them.
 */
#ifndef EGS_IPC_DOORBELL_H
#define EGS_IPC_DOORBELL_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/ipc/table.h"

#define EGS_BELL_MAGIC UINT32_C(0x6c6c6542)

/* Nodes of a claim that one datagram can name. */
#define EGS_BELL_PARTS 1024

enum egs_bell_what {
	EGS_BELL_BEGIN,
	EGS_BELL_END,
	EGS_BELL_PREEMPTED, /* it ends, or is requeued, as a victim */
	EGS_BELL_SUSPEND,
	EGS_BELL_RESUME,
	EGS_BELL_RESIZE,
	EGS_BELL_SUBMIT,
	EGS_BELL_MODIFY,
	EGS_BELL_CLAIM, /* 'part' is kept for it */
	EGS_BELL_ASKED, /* to go: its grace begins */
	EGS_BELL_WORDS, /* an update of it is refused: why */
	EGS_BELL_WHATS,
};

/* What is kept for the job on a node, or, where it names no node, a job that
 * has to go for it.
 */
struct egs_bell_part {
	char node[EGS_TABLE_NAME];
	uint32_t gpus;
	uint32_t cores;
	uint32_t mem_mb;
	uint32_t victim;
};

struct egs_bell {
	uint32_t magic;
	uint32_t what; /* enum egs_bell_what */
	uint32_t job_id;
	uint32_t nparts;  /* CLAIM: how many follow */
	uint32_t submit;  /* CLAIM: submit time of the job */
	uint32_t expires; /* CLAIM */
	int64_t priority; /* CLAIM: its place in the queue */
	int64_t start;	  /* END, PREEMPTED: when the run began */
	int64_t end;	  /* and ended, which Slurm forgets with a requeue */
};

/* The largest datagram. */
struct egs_bell_claim {
	struct egs_bell bell;
	struct egs_bell_part part[EGS_BELL_PARTS];
};

/* What WORDS looks like; in 'nparts' is 0. */
struct egs_bell_words {
	struct egs_bell bell;
	char text[EGS_ERR_MAX];
};

/* ---- the side of the daemon ---- */

/* Hang up the bell in 'run_dir': a file descriptor, or -1 with 'err' set. */
int egs_bell_hang(const char *run_dir, struct egs_err *err);

/* Take the next datagram: 1 if '*got' is one, 0 if there is none.  What is
 * no ring of ours is passed over.  One that is WORDS is a struct
 * egs_bell_words.
 */
int egs_bell_next(int fd, struct egs_bell_claim *got);

/* ---- the side of the plugins ---- */

/* Send one, from any thread, without waiting; 'fd' is -1 before the first one
 * and is kept between them.  One with parts is that of a struct
 * egs_bell_claim.  Returns 0, or -1 if nobody will hear it.
 */
int egs_bell_ring(_Atomic int *fd, const char *run_dir,
		  const struct egs_bell *bell);

#endif
