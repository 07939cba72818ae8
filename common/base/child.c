/* child.c - a call that may block, done aside in a child process
 *
 * The child writes a byte, '0' for 0, '1' for -1 and so on, and behind it what
 * was made or the sentence.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/child.h"
#include "common/base/fd.h"

enum { READ_SIZE = 64 << 10 };

/* Signals are as in any new program: the parent may have blocked some, and
 * its own death is ours, also if it came before we said so.
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

int egs_child_start(struct egs_child *aside, egs_child_fn *fn, const void *arg,
		    struct egs_err *err)
{
	pid_t parent = getpid();
	int fd[2];

	*aside = (struct egs_child){ .fd = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
		return egs_errf(err, "socketpair: %s", strerror(errno));
	aside->pid = fork();
	if (aside->pid < 0) {
		egs_errf(err, "fork: %s", strerror(errno));
		close(fd[0]);
		close(fd[1]);
		aside->pid = 0;
		return -1;
	}
	if (aside->pid == 0) {
		close(fd[0]);
		run_child(parent, fd[1], fn, arg);
	}
	close(fd[1]);
	aside->fd = fd[0];
	return 0;
}

static int grow_bytes(struct egs_child *aside)
{
	size_t room = 2 * aside->room + READ_SIZE;
	char *more;

	if (aside->room - aside->len > 1)
		return 0;
	more = realloc(aside->bytes, room);
	if (!more)
		return -1;
	aside->bytes = more;
	aside->room = room;
	return 0;
}

/* All was read: take the first byte off. */
static int parse_result(struct egs_child *aside, struct egs_err *err)
{
	int rc;

	if (aside->len == 0)
		return egs_errf(err, "a child ended without an answer");
	rc = '0' - aside->bytes[0];
	aside->len--;
	memmove(aside->bytes, aside->bytes + 1, aside->len);
	aside->bytes[aside->len] = '\0';
	if (rc == 0)
		return 0;
	egs_errf(err, "%s", aside->bytes);
	return rc < 0 ? rc : -1;
}

int egs_child_read(struct egs_child *aside, struct egs_err *err)
{
	ssize_t n;

	do {
		if (grow_bytes(aside) < 0)
			return egs_errf(err, "out of memory");
		n = recv(aside->fd, aside->bytes + aside->len,
			 aside->room - aside->len - 1, MSG_DONTWAIT);
		if (n > 0)
			aside->len += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0 && errno == EAGAIN)
		return 1;
	return parse_result(aside, err);
}

void egs_child_stop(struct egs_child *aside)
{
	if (aside->fd >= 0)
		close(aside->fd);
	if (aside->pid > 0) {
		kill(aside->pid, SIGKILL);
		while (waitpid(aside->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	free(aside->bytes);
	*aside = (struct egs_child){ .fd = -1 };
}
