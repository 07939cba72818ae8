/* op_shrink.h - jobs that are asked to go on with fewer GPUs
 *
 * An operator asks ("shrink": job, gpus, reason), or the policy for a job that
 * waits, if the job has said shrink-to; it sees a request of kind
 * EGS_NOTICE_SHRINK and answers `egs yield --gpus=N` with any number
 * below what it has.  Nothing is taken without that answer.  A request is over
 * when the job has answered, has gone, is asked to go altogether, or does not
 * answer within the time it would have to save; and one of the policy's, when
 * that needs the GPUs no more.
 *
 * Requests are kept on disk.  Their numbers are beyond those of requests to go,
 * so that no answer is taken for another.
 */
#ifndef EGS_REQUESTS_OP_SHRINK_H
#define EGS_REQUESTS_OP_SHRINK_H

#include "policyd/daemon/daemon.h"

#define EGS_SHRINKS_MAX		64
#define EGS_SHRINK_FIRST_NUMBER (UINT32_C(1) << 30) /* the first number */

struct egs_shrink_notice {
	uint32_t job_id; /* 0: not used */
	uint32_t restarts;
	uint64_t nonce;
	uint32_t number;    /* its number */
	uint32_t gpus;	    /* that it is to keep */
	uint32_t requester; /* the job it is asked for; 0: by an operator */
	egs_time_t deadline;
	char reason[EGS_REASON_MAX];
};

/* What this job is asked for; NULL: nothing.  Borrowed. */
const struct egs_shrink_notice *egs_op_shrink_find(const struct egs_daemon *d,
						   const struct egs_job *job);

/* It is over: written in the transaction that is open or begun. */
int egs_op_shrink_end(struct egs_daemon *d, uint32_t job_id,
		      struct egs_err *err);

#endif
