/* timed_child.h - a child process of egs-noded with a deadline
 *
 * What a child reads may be of a user's making, and a user can let a reader
 * wait for ever.  So the child is killed when its time is over.  If it hangs in
 * the kernel nevertheless, that counts against the user for whom it worked: no
 * child starts for a user who has eight of them.
 */
#ifndef EGS_NODED_TIMED_CHILD_H
#define EGS_NODED_TIMED_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/child.h"
#include "common/base/loop.h"

/* Called from the loop when the child has ended, or was killed.  'rc' is 0 with
 * the result in 'bytes', or the child's failure with 'err' set, -1 if its time
 * was over.
 */
typedef void egs_timed_child_fn(void *arg, int rc, const char *bytes,
				size_t len, const struct egs_err *err);

/* All zero: no child. */
struct egs_timed_child {
	struct egs_child child;
	struct egs_watch *watch, *timer;
	uint64_t limit_ms;
	uid_t owner; /* the user for whom it works */
	egs_timed_child_fn *done;
	void *arg;
};

/* Run 'fn' with 'input' in a child for 'limit_ms' at most.  'done' is called
 * with 'arg', unless the child is stopped.  It may free the egs_timed_child.
 * Returns 0, or -1 with 'err' set.
 */
int egs_timed_child_start(struct egs_timed_child *timed, struct egs_loop *loop,
			  egs_child_fn *fn, const void *input,
			  uint64_t limit_ms, struct egs_err *err);
bool egs_timed_child_runs(const struct egs_timed_child *timed);
void egs_timed_child_stop(struct egs_timed_child *timed);

#endif
