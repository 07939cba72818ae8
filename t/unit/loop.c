/* loop.c - files, timers and signals call their callbacks */
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/base/loop.h"
#include "t/lib/unit/tap.h"

static struct {
	struct egs_loop *loop;
	struct egs_watch *a, *b, *timer;
	int fired, bytes, signo;
	int pipe[2];
} s;

static void on_timer(void *arg, uint32_t events)
{
	(void)events;
	s.fired++;
	if (s.fired < 3)
		egs_timer_start(*(struct egs_watch **)arg, 1);
	else
		egs_loop_stop(s.loop);
}

static void test_timer(void)
{
	s.timer = egs_loop_add_timer(s.loop, on_timer, &s.timer, NULL);
	egs_timer_start(s.timer, 0);
	egs_loop_run(s.loop, NULL);
	is_int(s.fired, 3, "a timer fires once for each start");
	egs_watch_free(s.timer);
}

static void on_byte(void *arg, uint32_t events)
{
	char c;

	(void)arg;
	s.bytes += events & EPOLLIN && read(s.pipe[0], &c, 1) == 1;
	/* Each callback removes both, so the other must not be called. */
	egs_watch_free(s.a);
	egs_watch_free(s.b);
	egs_loop_stop(s.loop);
}

static void test_fd(void)
{
	int other = -1;

	ok(pipe(s.pipe) == 0 && (other = dup(s.pipe[0])) >= 0 &&
		   write(s.pipe[1], "xy", 2) == 2,
	   "two watches of one pipe are ready");
	s.a = egs_loop_add_fd(s.loop, s.pipe[0], EPOLLIN, on_byte, NULL, NULL);
	s.b = egs_loop_add_fd(s.loop, other, EPOLLIN, on_byte, NULL, NULL);
	egs_loop_run(s.loop, NULL);
	is_int(s.bytes, 1, "a watch removed in the same batch is not called");
	close(other);
}

static void on_signal(void *arg, uint32_t events)
{
	(void)arg;
	s.signo = (int)events;
	egs_loop_stop(s.loop);
}

static void test_signal(void)
{
	egs_loop_add_signal(s.loop, SIGHUP, on_signal, NULL, NULL);
	raise(SIGHUP);
	egs_loop_run(s.loop, NULL);
	is_int(s.signo, SIGHUP, "a signal calls its callback with its number");
}

static void test_refused(void)
{
	struct egs_err err = { .msg = "" };

	ok(!egs_loop_add_fd(s.loop, 999, EPOLLIN, on_byte, NULL, &err),
	   "a file descriptor that is not open is refused: %s", err.msg);
}

int main(void)
{
	plan_none();
	s.loop = egs_loop_new(NULL);
	test_timer();
	test_fd();
	test_signal();
	test_refused();
	egs_loop_free(s.loop);
	close(s.pipe[0]);
	close(s.pipe[1]);
	return done_testing();
}
