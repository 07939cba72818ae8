/* doorbell.h - plugins inside slurmctld send events to the daemon
 *
 * RunDir/doorbell is a datagram socket of the daemon.  A plugin sends one
 * datagram and does not wait.  If the socket is full, missing or has no reader,
 * the plugin drops the datagram and continues; then the daemon learns of the
 * event with its next poll of all jobs.  Only the daemon's user and root can
 * write to the socket, and the daemon checks every datagram.  Both ends are on
 * one host, so numbers are in its byte order.
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
	EGS_DOORBELL_PREEMPTED, /* the job ends or is requeued, as a victim */
	EGS_DOORBELL_SUSPEND,
	EGS_DOORBELL_RESUME,
	EGS_DOORBELL_RESIZE,
	EGS_DOORBELL_SUBMIT,
	EGS_DOORBELL_MODIFY,
	EGS_DOORBELL_CLAIM,		/* 'part' is claimed for the job */
	EGS_DOORBELL_PREEMPT_REQUESTED, /* the job's grace period begins */
	EGS_DOORBELL_REFUSED, /* an update of the job is refused: 'reason' */
	EGS_DOORBELL_EVENT_COUNT,
};

/* The resources that are claimed for the job on a node.  A part without a node
 * names a victim of the claim.
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
	uint32_t nparts;  /* CLAIM: number of parts */
	uint32_t submit;  /* CLAIM: submit time of the job */
	uint32_t expires; /* CLAIM */
	int64_t priority; /* CLAIM: its place in the queue */
	int64_t start;	  /* END, PREEMPTED: when the run began */
	int64_t end; /* and when it ended; a requeue clears that in Slurm */
};

/* The largest datagram. */
struct egs_doorbell_claim {
	struct egs_doorbell_msg msg;
	struct egs_doorbell_part part[EGS_DOORBELL_PARTS_MAX];
};

/* The datagram of EGS_DOORBELL_REFUSED; 'nparts' is 0. */
struct egs_doorbell_refusal {
	struct egs_doorbell_msg msg;
	char reason[EGS_ERR_MAX];
};

/* ---- for the daemon ---- */

/* Make the socket in 'run_dir'.  Returns a file descriptor, or -1 with 'err'
 * set.
 */
int egs_doorbell_listen(const char *run_dir, struct egs_err *err);

/* Read the next datagram.  Returns 1 with '*got', or 0 if there is none.
 * Invalid datagrams are skipped.  EGS_DOORBELL_REFUSED is a struct
 * egs_doorbell_refusal.
 */
int egs_doorbell_read(int fd, struct egs_doorbell_claim *got);

/* ---- for the plugins ---- */

/* Send a datagram, from any thread, without waiting.  '*fd' is -1 before the
 * first call and belongs to this function.  A datagram with parts is the 'msg'
 * of a struct egs_doorbell_claim.  Returns 0, or -1 if the datagram was
 * dropped.
 */
int egs_doorbell_ring(_Atomic int *fd, const char *run_dir,
		      const struct egs_doorbell_msg *msg);

#endif
