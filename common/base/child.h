/* child.h - a call that may block, done aside in a child process
 *
 * Looking up a name and talking to munged take as long as they take.  The
 * child does that and writes what came out; the caller goes on, and ends the
 * child when it has waited long enough.
 */
#ifndef EGS_BASE_CHILD_H
#define EGS_BASE_CHILD_H

#include <stddef.h>
#include <sys/types.h>

#include "common/base/err.h"

/* What the child runs.  Returns 0 with malloc'ed '*bytes', or a negative
 * number down to -9 with 'err' set.
 */
typedef int egs_child_fn(const void *arg, char **bytes, size_t *len,
			 struct egs_err *err);

/* All zero but 'fd' = -1: nothing was started. */
struct egs_child {
	pid_t pid;
	int fd; /* ready to be read when there is news */
	char *bytes;
	size_t len, room;
};

/* Start 'fn' with 'arg' in a child.  0, or -1 with 'err' set. */
int egs_child_start(struct egs_child *aside, egs_child_fn *fn, const void *arg,
		    struct egs_err *err);

/* Read what is there, without waiting.  1 if there is more to come; 0 when
 * 'fn' has returned 0 and 'bytes' and 'len' are what it made; otherwise what it
 * returned, with its sentence in 'err'.
 */
int egs_child_read(struct egs_child *aside, struct egs_err *err);

/* End the child, if it is there, and free what it made. */
void egs_child_stop(struct egs_child *aside);

#endif
