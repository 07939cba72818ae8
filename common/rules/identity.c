/* identity.c - which job this is, though Slurm hands its ids out again */
#include "common/rules/identity.h"

static bool same_unstamped(const struct egs_ident *known,
			   const struct egs_ident *seen)
{
	if (known->job_id != seen->job_id || known->uid != seen->uid)
		return false;
	if (seen->restarts != known->restarts)
		return seen->restarts > known->restarts;
	return seen->submit == known->submit;
}

bool egs_ident_same(const struct egs_ident *known, const struct egs_ident *seen)
{
	if (!known->nonce || !seen->nonce)
		return same_unstamped(known, seen);
	return known->nonce == seen->nonce && known->task == seen->task &&
	       known->het == seen->het && known->uid == seen->uid;
}
