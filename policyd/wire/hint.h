/* hint.h - what a job says about itself
 *
 * A hint is a few keys with values, written as "key=value,key=value".  Users
 * type it as options (--phase=train) or in one piece; the same functions read
 * it at the user's terminal and again inside slurmctld, where trust begins.
 *
 *	key	value
 *	phase	prep, train, eval, infer or retrain; other spellings of these
 *		(training, inference, "Train") are taken for them
 *
 * Keys of later versions are known by name and refused as such.
 */
#ifndef EGS_WIRE_HINT_H
#define EGS_WIRE_HINT_H

#include <stdbool.h>
#include <stddef.h>

#include "policyd/wire/err.h"

#define EGS_NAME_MAX 64	  /* bytes in a key or a value */
#define EGS_HINT_MAX 1024 /* bytes in a whole hint, canonical or typed */

/* All zero is the empty hint; an empty string is a key that was not given.
 * What these functions have stored is canonical: lower case, no alias, and
 * never a comma, semicolon, space or control character.
 */
struct egs_hint {
	char phase[EGS_NAME_MAX + 1];
};

/* Set one key, in place of a value it may have.  Returns 0, or -1 with 'err'
 * set and '*hint' left as it was: the key is unknown or of a later version, the
 * value is empty, longer than EGS_NAME_MAX or not one of those accepted.
 */
int egs_hint_set(struct egs_hint *hint, const char *key, const char *value,
		 struct egs_err *err);

/* Set all keys of 'text'; those it does not name keep their values, and an
 * empty text names none.  A key may appear once; an unknown key is an error.
 * Returns 0, or -1 with 'err' set and '*hint' left as it was.
 */
int egs_hint_parse(struct egs_hint *hint, const char *text,
		   struct egs_err *err);

/* Write the canonical text, which egs_hint_parse() reads back to an equal hint.
 * Returns its length, or -1 with an empty 'buf' if 'size' is too small;
 * EGS_HINT_MAX + 1 is always enough.
 */
int egs_hint_format(const struct egs_hint *hint, char *buf, size_t size);

/* Whether no key is set. */
bool egs_hint_empty(const struct egs_hint *hint);

#endif
