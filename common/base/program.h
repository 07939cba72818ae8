/* program.h - run a program of the site, without a shell and without waiting
 *
 * The program gets text on its standard input and nothing else of this process:
 * no other file, a small environment, default signals, a session of its own and
 * the directory /.  Its output is dropped.  It is killed at a deadline, or when
 * this process ends, and so are the processes that it leaves in its session.
 */
#ifndef EGS_BASE_PROGRAM_H
#define EGS_BASE_PROGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"

/* All zero: none runs. */
struct egs_program {
	pid_t pid;
	uint64_t started_ms, limit_ms;
};

/* May this process run 'path'?  It must be a regular file that only root and
 * the user of this process can change.  Returns 0, or -1 with a predicate in
 * 'err', as in "is not a regular file".
 */
int egs_program_check(const char *path, struct egs_err *err);

/* Start 'path' with 'input' of 'len' bytes, for at most 'limit_ms'.  None may
 * run yet.  Returns 0, or -1 with 'err' set.
 */
int egs_program_start(struct egs_program *program, const char *path,
		      const char *input, size_t len, uint64_t limit_ms,
		      struct egs_err *err);

/* Look after the program, without waiting.  Returns 1 while it runs, 0 when it
 * has ended with exit code 0 or none runs, or -1 with a predicate in 'err', as
 * in "has ended with exit code 3".
 */
int egs_program_check_end(struct egs_program *program, struct egs_err *err);

/* Kill the program if it runs; do not wait for it. */
void egs_program_stop(struct egs_program *program);

#endif
