/* identity.h - which job this is, though Slurm hands its ids out again
 *
 * A stamped job is the nonce of its stamp with array task, het offset and
 * uid.  A job without a stamp is its id and uid, for as long as its restart
 * count does not fall and either the submit time stays or the count grows:
 * Slurm rewrites the submit time on every requeue.
 */
#ifndef EGS_RULES_IDENTITY_H
#define EGS_RULES_IDENTITY_H

#include "common/rules/take_rule.h"

/* 'task' of a job that is no element of an array. */
#define EGS_NO_TASK UINT32_MAX

struct egs_identity {
	uint64_t nonce;	   /* 0: not stamped */
	egs_time_t submit; /* as Slurm has it now */
	uint32_t job_id;
	uint32_t uid;
	uint32_t array_task;
	uint32_t het_offset; /* offset, 0 */
	uint32_t restarts;   /* an attempt is the job and this count */
};

/* Is what Slurm shows now ('seen') the job we know ('known')?  When one of
 * them has lost its stamp, it is judged as a job without one.
 */
bool egs_identity_is_same(const struct egs_identity *known,
			  const struct egs_identity *seen);

#endif
