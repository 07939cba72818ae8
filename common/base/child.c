/* child.c - run a call that may block in a child process
 *
 * The child first writes its return code as one byte: '0' for 0, '1' for -1 and
 * so on.  Then it writes the result, or the sentence of the failure.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/child.h"
#include "common/base/fd.h"

enum { READ_SIZE = 64 << 10, KILL_MS = 500 };

/* Children that were killed and have not ended, pid 0: a free place. */
static struct {
	pid_t pid;
	uid_t owner;
} stuck[EGS_CHILD_STUCK_MAX];

/* The parent may have blocked signals: reset them.  The child dies with its
 * parent; getppid() shows whether the parent died before prctl().
 */
static void run_child(pid_t parent, int fd, egs_child_fn *fn, const void *arg)
{
	struct egs_err err = { "" };
	char *bytes = NULL;
	sigset_t none;
	size_t len = 0;
	char first;
	int rc;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	rc = fn(arg, &bytes, &len, &err);
	first = (char)('0' - rc);
	egs_write_all(fd, &first, 1);
	egs_write_all(fd, rc ? err.msg : bytes, rc ? strlen(err.msg) : len);
	free(bytes);
	_exit(0);
}

int egs_child_start(struct egs_child *child, egs_child_fn *fn, const void *arg,
		    struct egs_err *err)
{
	pid_t parent = getpid();
	int fd[2];

	*child = (struct egs_child){ .fd = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
		return egs_errf(err, "socketpair: %s", strerror(errno));
	child->pid = fork();
	if (child->pid < 0) {
		egs_errf(err, "fork: %s", strerror(errno));
		close(fd[0]);
		close(fd[1]);
		child->pid = 0;
		return -1;
	}
	if (child->pid == 0) {
		close(fd[0]);
		run_child(parent, fd[1], fn, arg);
	}
	close(fd[1]);
	child->fd = fd[0];
	return 0;
}

/* Split all that was read into the first byte and the rest. */
static int parse_result(struct egs_child *child, struct egs_err *err)
{
	int rc;

	if (child->len == 0)
		return egs_errf(err,
				"the child process ended without an answer");
	rc = '0' - child->bytes[0];
	child->len--;
	memmove(child->bytes, child->bytes + 1, child->len);
	child->bytes[child->len] = '\0';
	if (rc == 0)
		return 0;
	egs_errf(err, "%s", child->bytes);
	return rc < 0 ? rc : -1;
}

int egs_child_read(struct egs_child *child, struct egs_err *err)
{
	ssize_t n;

	do {
		if (egs_grow(&child->bytes, &child->room,
			     child->len + READ_SIZE) < 0)
			return egs_errf(err, "out of memory");
		n = recv(child->fd, child->bytes + child->len,
			 child->room - child->len - 1, MSG_DONTWAIT);
		if (n > 0)
			child->len += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0 && errno == EAGAIN)
		return 1;
	return parse_result(child, err);
}

unsigned egs_child_count_stuck(uid_t owner)
{
	unsigned n = 0;

	for (size_t i = 0; i < EGS_CHILD_STUCK_MAX; i++) {
		if (stuck[i].pid && waitpid(stuck[i].pid, NULL, WNOHANG) != 0)
			stuck[i].pid = 0;
		n += stuck[i].pid &&
		     (owner == EGS_CHILD_ANY || owner == stuck[i].owner);
	}
	return n;
}

static void remember_stuck(pid_t pid, uid_t owner)
{
	for (size_t i = 0; i < EGS_CHILD_STUCK_MAX; i++)
		if (!stuck[i].pid) {
			stuck[i].pid = pid;
			stuck[i].owner = owner;
			return;
		}
}

/* Without pidfd_open(), before Linux 5.3, there is no limit of time. */
static bool has_ended(pid_t pid)
{
	struct pollfd end = { .events = POLLIN };
	pid_t ended = waitpid(pid, NULL, WNOHANG);

	if (ended != 0)
		return true;
	end.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (end.fd >= 0) {
		poll(&end, 1, KILL_MS);
		close(end.fd);
	}
	do {
		ended = waitpid(pid, NULL, end.fd >= 0 ? WNOHANG : 0);
	} while (ended < 0 && errno == EINTR);
	return ended != 0;
}

void egs_child_stop(struct egs_child *child)
{
	if (child->fd >= 0)
		close(child->fd);
	if (child->pid > 0) {
		kill(child->pid, SIGKILL);
		egs_child_count_stuck(EGS_CHILD_ANY);
		if (!has_ended(child->pid))
			remember_stuck(child->pid, child->owner);
	}
	free(child->bytes);
	*child = (struct egs_child){ .fd = -1 };
}
