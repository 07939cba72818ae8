/* op_shrink.h - ask jobs to shrink, for an operator or for the policy
 *
 * An operator asks a job to shrink (verb "shrink": job, gpus, reason).  The
 * policy asks a job with the hint shrink-to, for a pending job.  The job gets a
 * notice of kind EGS_NOTICE_SHRINK.  The job answers with `egs yield --gpus=N`,
 * where N is at most its present number of GPUs.  Without an answer the job
 * keeps all its GPUs.
 *
 * A request ends when the job answers, ends or is preempted, or when its grace
 * period is over.  A request of the policy also ends when the policy no longer
 * needs the GPUs.
 *
 * Requests are on disk.  Their numbers are larger than all numbers of
 * preemption notices, so that an answer never matches the wrong notice.
 */
#ifndef EGS_REQUESTS_OP_SHRINK_H
#define EGS_REQUESTS_OP_SHRINK_H

#include "policyd/daemon/daemon.h"

#define EGS_SHRINKS_MAX		64
#define EGS_SHRINK_FIRST_NUMBER (UINT32_C(1) << 30)

struct egs_shrink_notice {
	uint32_t job_id; /* 0: this slot is free */
	uint32_t restarts;
	uint64_t nonce;
	uint32_t number;
	uint32_t gpus;	    /* number that the job keeps */
	uint32_t requester; /* 0: an operator asks */
	egs_time_t deadline;
	char reason[EGS_REASON_MAX];
};

/* Returns the open request to this job, borrowed; NULL: none. */
const struct egs_shrink_notice *egs_op_shrink_find(const struct egs_daemon *d,
						   const struct egs_job *job);

/* End the request to a job, in a transaction that stays open. */
int egs_op_shrink_end(struct egs_daemon *d, uint32_t job_id,
		      struct egs_err *err);

#endif
