/* timed_child.c - a child process of egs-noded with a deadline */
#include <inttypes.h>
#include <sys/epoll.h>

#include "noded/timed_child.h"

/* A child that hangs in the kernel does so by the doing of a user, mostly. */
enum { STUCK_OF_USER_MAX = 8 };

bool egs_timed_child_runs(const struct egs_timed_child *timed)
{
	return timed->watch != NULL;
}

void egs_timed_child_stop(struct egs_timed_child *timed)
{
	if (!timed->watch)
		return;
	egs_watch_free(timed->watch);
	egs_watch_free(timed->timer);
	timed->watch = timed->timer = NULL;
	egs_child_stop(&timed->child);
}

/* 'done' may start the next child, or free 'timed'. */
static void end_child(struct egs_timed_child *timed, int rc,
		      const struct egs_err *err)
{
	struct egs_timed_child ended = *timed;

	timed->watch = timed->timer = NULL;
	timed->child = (struct egs_child){ .fd = -1 };
	ended.done(ended.arg, rc, ended.child.bytes, ended.child.len, err);
	egs_timed_child_stop(&ended);
}

static void on_output(void *arg, uint32_t events)
{
	struct egs_timed_child *timed = arg;
	struct egs_err err = { "" };
	int rc = egs_child_read(&timed->child, &err);

	(void)events;
	if (rc <= 0)
		end_child(timed, rc, &err);
}

static void on_deadline(void *arg, uint32_t events)
{
	struct egs_timed_child *timed = arg, ended = *timed;
	struct egs_err err;

	(void)events;
	egs_errf(&err, "the child process did not end in %" PRIu64 " s",
		 timed->limit_ms / 1000);
	/* Then it does nothing any more, unless it hangs in the kernel. */
	egs_timed_child_stop(timed);
	ended.done(ended.arg, -1, NULL, 0, &err);
}

static int check_stuck(uid_t owner, struct egs_err *err)
{
	unsigned n = egs_child_count_stuck(owner);

	if (n >= STUCK_OF_USER_MAX)
		return egs_errf(err,
				"%u child processes that worked for uid %u "
				"were killed and hang in the kernel",
				n, (unsigned)owner);
	n = egs_child_count_stuck(EGS_CHILD_ANY);
	return n < EGS_CHILD_STUCK_MAX
		       ? 0
		       : egs_errf(err,
				  "%u child processes were killed and hang in "
				  "the kernel",
				  n);
}

int egs_timed_child_start(struct egs_timed_child *timed, struct egs_loop *loop,
			  egs_child_fn *fn, const void *input,
			  uint64_t limit_ms, struct egs_err *err)
{
	timed->limit_ms = limit_ms;
	if (check_stuck(timed->owner, err) < 0 ||
	    egs_child_start(&timed->child, fn, input, err) < 0)
		return -1;
	timed->child.owner = timed->owner;
	timed->watch = egs_loop_add_fd(loop, timed->child.fd, EPOLLIN,
				       on_output, timed, err);
	timed->timer = egs_loop_add_timer(loop, on_deadline, timed, err);
	if (timed->watch && timed->timer) {
		egs_timer_start(timed->timer, limit_ms);
		return 0;
	}
	egs_watch_free(timed->watch);
	egs_watch_free(timed->timer);
	timed->watch = timed->timer = NULL;
	egs_child_stop(&timed->child);
	return -1;
}
