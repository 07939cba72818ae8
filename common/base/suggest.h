/* suggest.h - "did you mean": the known name nearest to a mistyped one */
#ifndef EGS_BASE_SUGGEST_H
#define EGS_BASE_SUGGEST_H

#include <stddef.h>

#include "common/base/err.h"

/* The name nearest to 'word' among 'count' 'names', ignoring case.  A letter
 * that is missing, added, wrong or swapped with its neighbour is one step.  The
 * first of several equally near names wins.  A word of up to three letters may
 * be one step away from the name, a longer word two steps.  NULL if no name is
 * that near.  The result is borrowed from 'names'; a NULL in 'names' is
 * skipped.
 */
const char *egs_suggest(const char *word, const char *const *names,
			size_t count);

/* Likewise, but the name is at most 'steps' away. */
const char *egs_suggest_within(const char *word, const char *const *names,
			       size_t count, size_t steps);

/* Refuse 'word', which is not in 'names': "is not a tier; did you mean 'prod'?
 * (tiers: prod, scavenge)", if 'what' is "tier".  Returns -1.
 */
int egs_err_unknown_name(const char *word, const char *what,
			 const char *const *names, size_t count,
			 struct egs_err *err);

#endif
