/* child.h - run a call that may block in a child process
 *
 * The lookup of a host name, or a call of munged, may block for any time.  The
 * child makes the call and writes the result.  The parent continues, and stops
 * the child when the deadline is over.
 */
#ifndef EGS_BASE_CHILD_H
#define EGS_BASE_CHILD_H

#include <stddef.h>
#include <sys/types.h>

#include "common/base/err.h"

/* The function that the child runs.  Returns 0 with malloc'ed '*bytes', or -1
 * to -9 with 'err' set.
 */
typedef int egs_child_fn(const void *arg, char **bytes, size_t *len,
			 struct egs_err *err);

/* All zero except 'fd' = -1: no child. */
struct egs_child {
	pid_t pid;
	int fd;	     /* readable when the child has written or ended */
	uid_t owner; /* the user for whom it works; 0, unless the caller sets it
		      */
	char *bytes;
	size_t len, room;
};

/* Start 'fn' with 'arg' in a child.  Returns 0, or -1 with 'err' set. */
int egs_child_start(struct egs_child *child, egs_child_fn *fn, const void *arg,
		    struct egs_err *err);

/* Read what the child has written, without waiting.  Returns 1 if the child has
 * not finished.  Returns 0 if 'fn' has returned 0, with its result in 'bytes'
 * and 'len'.  Otherwise returns the value of 'fn', with its sentence in 'err'.
 */
int egs_child_read(struct egs_child *child, struct egs_err *err);

/* Kill the child if there is one, and free its result.  A child that hangs in
 * the kernel, as in a driver, does not end by that: do not wait for it.
 */
void egs_child_stop(struct egs_child *child);

/* How many children of this owner were killed and have not ended?  With
 * EGS_CHILD_ANY, of all owners.
 */
#define EGS_CHILD_ANY ((uid_t)-1)
unsigned egs_child_count_stuck(uid_t owner);

/* The number that egs_child_stop() remembers. */
#define EGS_CHILD_STUCK_MAX 256

#endif
