/* stops.h - stop processes while they are examined
 *
 * Processes that run can hand a file to each other faster than anyone can read
 * /proc.  So they are stopped first, as by a debugger (PTRACE_SEIZE):
 *
 *	struct egs_stops stops = { 0 };
 *
 *	do {
 *		stops.n_new = 0;
 *		egs_stops_add()		each process
 *		egs_stops_wait()
 *	} while (stops.n_new);		a process may have started others
 *	examine
 *	egs_stops_end()
 *
 * The kernel lets all of them continue when this process ends, in whatever way.
 * No signal is lost, no parent is told, and a process that was stopped or
 *frozen before is so afterwards.  A thread that was added executes no
 *instruction of its program any more, and its new children start stopped.  A
 *thread counts as stopped only when its system call is over, too: the call may
 *move a file.
 *
 * These functions need CAP_SYS_PTRACE.
 */
#ifndef EGS_NODE_STOPS_H
#define EGS_NODE_STOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"
#include "common/base/idmap.h"

/* All zero: none. */
struct egs_stops {
	struct egs_stop *list; /* by slot of 'threads' */
	size_t room;
	struct egs_idmap threads;
	size_t n_running; /* threads that are added and not stopped yet */
	size_t n_new;	  /* threads added since the caller set it to 0 */
};

/* Begin to stop all threads of a process that are not added yet.  A process
 * that has ended is no error.  Returns 0, or -1 with 'err' set if a thread
 * cannot be stopped: another process traces it, or the kernel runs it for
 * io_uring.
 */
int egs_stops_add(struct egs_stops *stops, pid_t pid, struct egs_err *err);

/* Wait until all threads are stopped, until 'end_ms' of egs_now_ms() at most.
 * Returns 0, or -1 with 'err' set if a thread does not stop.
 */
int egs_stops_wait(struct egs_stops *stops, uint64_t end_ms,
		   struct egs_err *err);

/* Let all continue.  A thread that did not stop is traced until this process
 * ends.
 */
void egs_stops_end(struct egs_stops *stops);

/* Stop nothing from now on.  For tests with processes that do not exist. */
void egs_stops_turn_off(bool is_off);

#endif
