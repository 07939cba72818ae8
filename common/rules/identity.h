/* identity.h - recognize a job although Slurm reuses job ids
 *
 * A job with a stamp is identified by the nonce of the stamp, array task, het
 * offset and uid.  A job without a stamp is identified by id and uid; it is the
 * same job if its restart count has grown, or if restart count and submit time
 * are equal.  Slurm rewrites the submit time on every requeue.
 */
#ifndef EGS_RULES_IDENTITY_H
#define EGS_RULES_IDENTITY_H

#include "common/rules/take_rule.h"

/* 'array_task' of a job that is not part of an array. */
#define EGS_NO_TASK UINT32_MAX

struct egs_identity {
	uint64_t nonce;	   /* 0: not stamped */
	egs_time_t submit; /* as Slurm has it now */
	uint32_t job_id;
	uint32_t uid;
	uint32_t array_task;
	uint32_t het_offset; /* 0: the first component, or not a het job */
	uint32_t restarts;   /* each restart is another attempt */
};

/* Is the job that Slurm shows now ('seen') the job that EGS knows ('known')?
 * If only one of them has a stamp, both are compared as jobs without a stamp.
 */
bool egs_identity_is_same(const struct egs_identity *known,
			  const struct egs_identity *seen);

#endif
