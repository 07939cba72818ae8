/* suggest.h - "did you mean": the name somebody probably wanted to type */
#ifndef EGS_BASE_SUGGEST_H
#define EGS_BASE_SUGGEST_H

#include <stddef.h>

#include "common/base/err.h"

/* The one of 'count' 'names' nearest to 'word': upper and lower case count as
 * the same, and a letter that is missing, added, wrong or swapped with its
 * neighbour is one step away.  The first of several as near wins.  NULL if none
 * is within one step for words of up to three letters, two for longer ones.
 * The result is borrowed from 'names'; a NULL in 'names' is passed over.
 */
const char *egs_suggest(const char *word, const char *const *names,
			size_t count);

/* Refuse 'word', which is none of 'names': "is not a tier; did you mean 'prod'?
 * (tiers: prod, scavenge)", where 'what' is "tier".  Returns -1.
 */
int egs_err_unknown_name(const char *word, const char *what,
			 const char *const *names, size_t count,
			 struct egs_err *err);

#endif
