/* loop.c - epoll around files, timerfds and signalfds */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/base/loop.h"

enum { EVENTS_MAX = 64 };

enum watch_kind { WATCH_FD, WATCH_TIMER, WATCH_SIGNAL };

/* The current batch of events may still point to a removed watch.  So the watch
 * is only marked, and is freed after the batch.
 */
struct egs_watch {
	struct egs_loop *loop;
	egs_watch_fn *fn;
	void *arg;
	enum watch_kind kind;
	int fd;
	bool removed;
	LIST_ENTRY(egs_watch) link;
};

LIST_HEAD(watches, egs_watch);

struct egs_loop {
	int epoll;
	bool stop;
	struct watches active, removed;
};

struct egs_loop *egs_loop_new(struct egs_err *err)
{
	struct egs_loop *loop = calloc(1, sizeof(*loop));

	if (!loop) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll < 0) {
		egs_errf(err, "epoll: %s", strerror(errno));
		free(loop);
		return NULL;
	}
	return loop;
}

static void free_removed(struct egs_loop *loop)
{
	struct egs_watch *w;

	while ((w = LIST_FIRST(&loop->removed))) {
		LIST_REMOVE(w, link);
		free(w);
	}
}

void egs_loop_free(struct egs_loop *loop)
{
	struct egs_watch *w;

	if (!loop)
		return;
	while ((w = LIST_FIRST(&loop->active)))
		egs_watch_free(w);
	free_removed(loop);
	close(loop->epoll);
	free(loop);
}

/* Owns 'fd' unless the kind is WATCH_FD, and then closes it on failure. */
static struct egs_watch *new_watch(struct egs_loop *loop, enum watch_kind kind,
				   int fd, uint32_t events, egs_watch_fn *fn,
				   void *arg, struct egs_err *err)
{
	struct egs_watch *w = calloc(1, sizeof(*w));
	struct epoll_event ev = { .events = events, .data.ptr = w };

	if (!w || fd < 0 ||
	    epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &ev) < 0) {
		egs_errf(err, "cannot watch file descriptor %d: %s", fd,
			 strerror(errno));
		if (kind != WATCH_FD && fd >= 0)
			close(fd);
		free(w);
		return NULL;
	}
	*w = (struct egs_watch){
		.loop = loop, .fn = fn, .arg = arg, .kind = kind, .fd = fd
	};
	LIST_INSERT_HEAD(&loop->active, w, link);
	return w;
}

struct egs_watch *egs_loop_add_fd(struct egs_loop *loop, int fd,
				  uint32_t events, egs_watch_fn *fn, void *arg,
				  struct egs_err *err)
{
	return new_watch(loop, WATCH_FD, fd, events, fn, arg, err);
}

void egs_watch_set_events(struct egs_watch *watch, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = watch };

	epoll_ctl(watch->loop->epoll, EPOLL_CTL_MOD, watch->fd, &ev);
}

struct egs_watch *egs_loop_add_timer(struct egs_loop *loop, egs_watch_fn *fn,
				     void *arg, struct egs_err *err)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	return new_watch(loop, WATCH_TIMER, fd, EPOLLIN, fn, arg, err);
}

void egs_timer_start(struct egs_watch *timer, uint64_t ms)
{
	/* One nanosecond more, because all zero stops the timer. */
	struct itimerspec in = {
		.it_value.tv_sec = (time_t)(ms / 1000),
		.it_value.tv_nsec = (long)(ms % 1000) * 1000000 + 1,
	};

	timerfd_settime(timer->fd, 0, &in, NULL);
}

void egs_timer_stop(struct egs_watch *timer)
{
	const struct itimerspec never = { .it_value.tv_sec = 0 };

	timerfd_settime(timer->fd, 0, &never, NULL);
}

struct egs_watch *egs_loop_add_signal(struct egs_loop *loop, int signo,
				      egs_watch_fn *fn, void *arg,
				      struct egs_err *err)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, signo);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return new_watch(loop, WATCH_SIGNAL, fd, EPOLLIN, fn, arg, err);
}

void egs_loop_unblock_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

void egs_watch_free(struct egs_watch *watch)
{
	if (!watch || watch->removed)
		return;
	epoll_ctl(watch->loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
	if (watch->kind != WATCH_FD)
		close(watch->fd);
	watch->removed = true;
	LIST_REMOVE(watch, link);
	LIST_INSERT_HEAD(&watch->loop->removed, watch, link);
}

/* Read timers and signals.  If there is nothing to read, ignore the event: an
 * earlier callback of the batch has restarted the timer.
 */
static void dispatch_event(struct egs_watch *w, uint32_t events)
{
	struct signalfd_siginfo info;
	uint64_t expirations;

	if (w->kind == WATCH_TIMER &&
	    read(w->fd, &expirations, sizeof(expirations)) < 0)
		return;
	if (w->kind == WATCH_SIGNAL) {
		if (read(w->fd, &info, sizeof(info)) != sizeof(info))
			return;
		events = info.ssi_signo;
	}
	w->fn(w->arg, events);
}

int egs_loop_run(struct egs_loop *loop, struct egs_err *err)
{
	struct epoll_event ev[EVENTS_MAX];

	loop->stop = false;
	while (!loop->stop) {
		int n = epoll_wait(loop->epoll, ev, EVENTS_MAX, -1);
		if (n < 0 && errno != EINTR)
			return egs_errf(err, "epoll: %s", strerror(errno));
		for (int i = 0; i < n && !loop->stop; i++) {
			struct egs_watch *w = ev[i].data.ptr;

			if (!w->removed)
				dispatch_event(w, ev[i].events);
		}
		free_removed(loop);
	}
	return 0;
}

void egs_loop_stop(struct egs_loop *loop)
{
	loop->stop = true;
}
