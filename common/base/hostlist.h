/* hostlist.h - "n[1-4,7],m1": names of nodes, or of files, as Slurm writes them
 *
 * An element may have several brackets.  A number in brackets has the leading
 * zeros of the first number of its range.
 */
#ifndef EGS_BASE_HOSTLIST_H
#define EGS_BASE_HOSTLIST_H

#include <stdbool.h>

#include "common/base/err.h"

/* Most names of a list that egs_hostlist_check() accepts. */
#define EGS_HOSTLIST_NAMES_MAX 65536

/* Is 'text' such a list?  Returns 0, or -1 with a predicate in 'err': "has a
 * '[' without ']'".
 */
int egs_hostlist_check(const char *text, struct egs_err *err);

/* Is 'name' in the list?  The time does not depend on the number of names. */
bool egs_hostlist_has(const char *text, const char *name);

/* Call 'fn' with each name until it returns a value other than 0.  Returns that
 * value, else 0.  An element that is not valid is skipped or passed unchanged.
 */
int egs_hostlist_each(const char *text, int (*fn)(void *arg, const char *name),
		      void *arg);

#endif
