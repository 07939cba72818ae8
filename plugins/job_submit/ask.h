/* ask.h - what the client asked for, as slurmctld receives it */
#ifndef EGS_JOB_SUBMIT_ASK_H
#define EGS_JOB_SUBMIT_ASK_H

#include <stddef.h>

#include "policyd/wire/err.h"
#include "policyd/wire/hint.h"

/* Read the options of spank_egs into '*hint'.  Slurm sends them as the
 * variables _SLURM_SPANK_OPTION_egs_KEY=VALUE among the 'count' strings of
 * 'env'.  A client may send anything: 'env' and each of its strings may be
 * NULL, other variables are passed over, and of a key that comes twice the last
 * one counts.  Returns 0, with an empty hint where nothing was asked, or -1
 * with 'err' set and '*hint' left as it was: a key or a value is refused.
 */
int egs_ask_read(struct egs_hint *hint, char *const *env, size_t count,
		 struct egs_err *err);

#endif
