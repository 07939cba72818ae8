/* loop.h - one thread that waits for files, timers and signals
 *
 * egs_loop_run() calls the callbacks one at a time.  They must not block.  A
 * callback may add and remove watches, also its own.
 */
#ifndef EGS_BASE_LOOP_H
#define EGS_BASE_LOOP_H

#include <stdint.h>

#include "common/base/err.h"

struct egs_loop;
struct egs_watch;

/* 'events' are those of epoll (EPOLLIN, EPOLLOUT, EPOLLHUP, ...). */
typedef void egs_watch_fn(void *arg, uint32_t events);

/* NULL with 'err' set on failure.  egs_loop_free() removes all watches. */
struct egs_loop *egs_loop_new(struct egs_err *err);
void egs_loop_free(struct egs_loop *loop);

/* Call 'fn' when 'fd' is ready for 'events'.  The caller owns the fd and keeps
 * it open until the watch is removed.  NULL with 'err' set on failure.
 */
struct egs_watch *egs_loop_add_fd(struct egs_loop *loop, int fd,
				  uint32_t events, egs_watch_fn *fn, void *arg,
				  struct egs_err *err);

/* Change the events that a watch waits for. */
void egs_watch_set_events(struct egs_watch *watch, uint32_t events);

/* A timer that is stopped until egs_timer_start(). */
struct egs_watch *egs_loop_add_timer(struct egs_loop *loop, egs_watch_fn *fn,
				     void *arg, struct egs_err *err);

/* Fire once, 'ms' milliseconds from now by the steady clock; 0 is at once.  The
 * call replaces an earlier start.
 */
void egs_timer_start(struct egs_watch *timer, uint64_t ms);
void egs_timer_stop(struct egs_watch *timer);

/* Call 'fn' with the number of the signal as 'events'.  From now on the process
 * blocks the signal.  A child calls egs_loop_unblock_signals() before it runs
 * another program.
 */
struct egs_watch *egs_loop_add_signal(struct egs_loop *loop, int signo,
				      egs_watch_fn *fn, void *arg,
				      struct egs_err *err);
void egs_loop_unblock_signals(void);

/* Remove a watch of any kind; NULL is accepted. */
void egs_watch_free(struct egs_watch *watch);

/* Call callbacks until egs_loop_stop().  Returns 0, or -1 with 'err' set. */
int egs_loop_run(struct egs_loop *loop, struct egs_err *err);
void egs_loop_stop(struct egs_loop *loop);

#endif
