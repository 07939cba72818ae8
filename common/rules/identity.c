/* identity.c - recognize a job although Slurm reuses job ids */
#include "common/rules/identity.h"

static bool is_same_unstamped(const struct egs_identity *known,
			      const struct egs_identity *seen)
{
	if (known->job_id != seen->job_id || known->uid != seen->uid)
		return false;
	if (seen->restarts != known->restarts)
		return seen->restarts > known->restarts;
	return seen->submit == known->submit;
}

bool egs_identity_is_same(const struct egs_identity *known,
			  const struct egs_identity *seen)
{
	if (!known->nonce || !seen->nonce)
		return is_same_unstamped(known, seen);
	return known->nonce == seen->nonce &&
	       known->array_task == seen->array_task &&
	       known->het_offset == seen->het_offset && known->uid == seen->uid;
}
