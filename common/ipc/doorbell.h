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

#define EGS_DOORBELL_MAGIC UINT32_C(0x6c6c6542)

/* Nodes of a claim that one datagram can name. */
#define EGS_DOORBELL_PARTS_MAX 1024

enum egs_doorbell_event {
	EGS_DOORBELL_BEGIN,
	EGS_DOORBELL_END,
	EGS_DOORBELL_PREEMPTED, /* it ends, or is requeued, as a victim */
	EGS_DOORBELL_SUSPEND,
	EGS_DOORBELL_RESUME,
	EGS_DOORBELL_RESIZE,
	EGS_DOORBELL_SUBMIT,
	EGS_DOORBELL_MODIFY,
	EGS_DOORBELL_CLAIM,		/* 'part' is kept for it */
	EGS_DOORBELL_PREEMPT_REQUESTED, /* to go: its grace begins */
	EGS_DOORBELL_REFUSED,		/* an update of it is refused: why */
	EGS_DOORBELL_EVENT_COUNT,
};

/* What is kept for the job on a node, or, where it names no node, a job that
 * has to go for it.
 */
struct egs_doorbell_part {
	char node[EGS_TABLE_NAME_SIZE];
	uint32_t gpus;
	uint32_t cores;
	uint32_t mem_mb;
	uint32_t victim;
};

struct egs_doorbell_msg {
	uint32_t magic;
	uint32_t event; /* enum egs_doorbell_event */
	uint32_t job_id;
	uint32_t nparts;  /* CLAIM: how many follow */
	uint32_t submit;  /* CLAIM: submit time of the job */
	uint32_t expires; /* CLAIM */
	int64_t priority; /* CLAIM: its place in the queue */
	int64_t start;	  /* END, PREEMPTED: when the run began */
	int64_t end;	  /* and ended, which Slurm forgets with a requeue */
};

/* The largest datagram. */
struct egs_doorbell_claim {
	struct egs_doorbell_msg msg;
	struct egs_doorbell_part part[EGS_DOORBELL_PARTS_MAX];
};

/* What WORDS looks like; in 'nparts' is 0. */
struct egs_doorbell_refusal {
	struct egs_doorbell_msg msg;
	char reason[EGS_ERR_MAX];
};

/* ---- the side of the daemon ---- */

/* Hang up the bell in 'run_dir': a file descriptor, or -1 with 'err' set. */
int egs_doorbell_listen(const char *run_dir, struct egs_err *err);

/* Take the next datagram: 1 if '*got' is one, 0 if there is none.  What is
 * no ring of ours is passed over.  One that is WORDS is a struct
 * egs_doorbell_refusal.
 */
int egs_doorbell_read(int fd, struct egs_doorbell_claim *got);

/* ---- the side of the plugins ---- */

/* Send one, from any thread, without waiting; 'fd' is -1 before the first one
 * and is kept between them.  One with parts is that of a struct
 * egs_doorbell_claim.  Returns 0, or -1 if nobody will hear it.
 */
int egs_doorbell_ring(_Atomic int *fd, const char *run_dir,
		      const struct egs_doorbell_msg *bell);

#endif
