/* timed_child.c - a child process that does not end is killed at its deadline
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "noded/timed_child.h"
#include "t/lib/unit/tap.h"

enum { ALICE = 1000, BOB = 1001, STUCK_OF_USER = 8 };

static struct egs_loop *loop;
static struct egs_timed_child timed;
static int last_rc;
static char last_bytes[64];
static struct egs_err last_err;

static void on_end(void *arg, int rc, const char *bytes, size_t len,
		   const struct egs_err *err)
{
	(void)arg;
	last_rc = rc;
	last_err = *err;
	snprintf(last_bytes, sizeof(last_bytes), "%.*s", (int)len,
		 bytes ? bytes : "");
	egs_loop_stop(loop);
}

/* A function of the child: answer, fail or hang, as 'arg' says. */
static int play(const void *arg, char **bytes, size_t *len, struct egs_err *err)
{
	if (strcmp(arg, "fail") == 0)
		return egs_errf(err, "it failed");
	while (strcmp(arg, "hang") == 0)
		pause();
	*bytes = strdup(arg);
	*len = strlen(*bytes);
	return 0;
}

static void run(const char *what, uint64_t limit_ms)
{
	timed.done = on_end;
	last_rc = 1;
	if (egs_timed_child_start(&timed, loop, play, what, limit_ms, NULL) ==
	    0)
		egs_loop_run(loop, NULL);
}

/* A process that traces another, and does not wait for it.  The other one's
 * parent does not see its end then, as if it hung in the kernel.
 */
static pid_t start_tracer(pid_t traced)
{
	int ready[2];
	pid_t pid;
	char c = 'x';

	if (pipe(ready) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (ptrace(PTRACE_SEIZE, traced, NULL, NULL) < 0 ||
		    write(ready[1], &c, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		pid = -1;
	close(ready[0]);
	return pid;
}

static void test_stuck(void)
{
	pid_t tracer;

	timed.owner = BOB;
	egs_timed_child_start(&timed, loop, play, "hang", 60000, NULL);
	tracer = start_tracer(timed.child.pid);
	if (tracer < 0) {
		egs_timed_child_stop(&timed);
		ok(true, "a process cannot be traced here # SKIP");
		return;
	}
	alarm(60);
	egs_timed_child_stop(&timed);
	is_int(egs_child_count_stuck(EGS_CHILD_ANY), 1,
	       "a child that was killed and does not end is not waited for");
	ok(egs_child_count_stuck(BOB) == 1 && egs_child_count_stuck(ALICE) == 0,
	   "a child that does not end counts against its user");
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
	is_int(egs_child_count_stuck(EGS_CHILD_ANY), 0,
	       "a child that ends late is reaped late");
	alarm(0);
}

/* Eight stuck children of BOB: he gets no other one, ALICE does. */
static void test_stuck_of_user(void)
{
	pid_t tracer[STUCK_OF_USER];
	struct egs_err err = { "" };
	char text[EGS_ERR_MAX];

	timed.owner = BOB;
	for (int i = 0; i < STUCK_OF_USER; i++) {
		egs_timed_child_start(&timed, loop, play, "hang", 60000, NULL);
		tracer[i] = start_tracer(timed.child.pid);
		egs_timed_child_stop(&timed);
		if (tracer[i] < 0) {
			ok(true, "a process cannot be traced here # SKIP");
			return;
		}
	}
	snprintf(text, sizeof(text),
		 "8 child processes that worked for uid %d were killed and "
		 "hang in the kernel",
		 BOB);
	ok(egs_timed_child_start(&timed, loop, play, "x", 60000, &err) < 0,
	   "no child starts for a user who has eight that do not end");
	is_str(err.msg, text, "the refusal names the user");
	timed.owner = ALICE;
	run("answer", 60000);
	ok(last_rc == 0, "stuck children of one user do not stop another's");
	for (int i = 0; i < STUCK_OF_USER; i++) {
		kill(tracer[i], SIGKILL);
		waitpid(tracer[i], NULL, 0);
	}
}

int main(void)
{
	uint64_t start;
	pid_t pid;

	plan_none();
	loop = egs_loop_new(NULL);
	run("answer", 60000);
	ok(last_rc == 0 && strcmp(last_bytes, "answer") == 0,
	   "a child that ends in time gives its result");
	run("fail", 60000);
	ok(last_rc == -1, "a child that fails gives its code");
	is_str(last_err.msg, "it failed", "a child that fails says why");
	start = egs_now_ms();
	run("hang", 1000);
	ok(last_rc == -1 && egs_now_ms() - start >= 1000,
	   "a child that does not end has failed at its deadline");
	is_str(last_err.msg, "the child process did not end in 1 s",
	       "the sentence of a child that does not end names the limit");
	ok(!egs_timed_child_runs(&timed) &&
		   egs_child_count_stuck(EGS_CHILD_ANY) == 0,
	   "a child that does not end is killed");
	egs_timed_child_start(&timed, loop, play, "hang", 60000, NULL);
	pid = timed.child.pid;
	egs_timed_child_stop(&timed);
	ok(kill(pid, 0) < 0 && errno == ESRCH && !egs_timed_child_runs(&timed),
	   "a child that is stopped is gone");
	test_stuck();
	test_stuck_of_user();
	egs_loop_free(loop);
	return done_testing();
}
