/* program.c - run a program of the site, without a shell and without waiting */
#define _GNU_SOURCE /* memfd_create */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/fd.h"
#include "common/base/program.h"

/* ---- may it be run? ---- */

static bool is_owner_trusted(const struct stat *is)
{
	return is->st_uid == 0 || is->st_uid == geteuid();
}

/* Other users may not replace the file: no directory above it is open to all,
 * except with the sticky bit.
 */
static int check_directories(const char *path, struct egs_err *err)
{
	char dir[PATH_MAX], *slash;
	struct stat is;

	if (!realpath(path, dir))
		return egs_errf(err, "cannot be found: %s", strerror(errno));
	while ((slash = strrchr(dir, '/')) && dir[1]) {
		slash[slash == dir] = '\0';
		if (stat(dir, &is) < 0)
			return egs_errf(err, "is in %s: %s", dir,
					strerror(errno));
		if (is.st_mode & S_IWOTH && !(is.st_mode & S_ISVTX))
			return egs_errf(err,
					"is in %s, where all users can "
					"replace files",
					dir);
	}
	return 0;
}

int egs_program_check(const char *path, struct egs_err *err)
{
	struct stat is;

	if (*path != '/')
		return egs_errf(err, "is not a path that begins with /");
	if (stat(path, &is) < 0)
		return egs_errf(err, "cannot be found: %s", strerror(errno));
	if (!S_ISREG(is.st_mode))
		return egs_errf(err, "is not a regular file");
	if (is.st_mode & (S_IWGRP | S_IWOTH))
		return egs_errf(err, "can be written by others than its owner");
	if (!is_owner_trusted(&is))
		return egs_errf(err,
				"is of uid %lu, not of root or the user of "
				"the daemon",
				(unsigned long)is.st_uid);
	if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
		return egs_errf(err, "cannot be executed: %s", strerror(errno));
	return check_directories(path, err);
}

/* ---- start ---- */

/* A file in memory with the input.  A pipe could be too small for it. */
static int make_input(const char *input, size_t len)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd >= 0 && egs_write_all(fd, input, len) == 0 &&
	    lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void exec_program(const char *path, pid_t parent, int input)
{
	static char paths[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:"
			      "/usr/bin:/sbin:/bin",
		    language[] = "LANG=C.UTF-8";
	char *const environment[] = { paths, language, NULL };
	char *const arguments[] = { (char *)path, NULL };
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	for (int signo = 1; signo < NSIG; signo++)
		signal(signo, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent && setsid() > 0 && chdir("/") == 0 &&
	    dup2(input, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0 &&
	    dup2(null, STDERR_FILENO) >= 0) {
		/* Our own files close by themselves. */
		syscall(SYS_close_range, STDERR_FILENO + 1, UINT_MAX, 0);
		execve(path, arguments, environment);
	}
	_exit(127);
}

int egs_program_start(struct egs_program *program, const char *path,
		      const char *input, size_t len, uint64_t limit_ms,
		      struct egs_err *err)
{
	pid_t parent = getpid(), pid;
	int fd = make_input(input, len);

	if (fd < 0)
		return egs_errf(err, "%s: input: %s", path, strerror(errno));
	pid = fork();
	if (pid == 0)
		exec_program(path, parent, fd);
	if (pid < 0)
		egs_errf(err, "%s: fork: %s", path, strerror(errno));
	close(fd);
	if (pid < 0)
		return -1;
	*program = (struct egs_program){ .pid = pid,
					 .started_ms = egs_now_ms(),
					 .limit_ms = limit_ms };
	return 0;
}

/* ---- end ---- */

/* A program that has ended keeps its number until waitpid(). */
static bool has_ended(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) <
		       0 ||
	       info.si_pid;
}

/* Before its setsid() the child has no group of its own. */
static void kill_group(pid_t pid)
{
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
}

static int explain_status(const struct egs_program *program, int status,
			  struct egs_err *err)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status)
			       ? egs_errf(err, "has ended with exit code %d",
					  WEXITSTATUS(status))
			       : 0;
	if (egs_now_ms() - program->started_ms >= program->limit_ms)
		return egs_errf(err, "was killed after %" PRIu64 " s",
				program->limit_ms / 1000);
	return egs_errf(err, "was ended by signal %d", WTERMSIG(status));
}

int egs_program_check_end(struct egs_program *program, struct egs_err *err)
{
	struct egs_program ended = *program;
	int status = 0;

	if (!program->pid)
		return 0;
	if (!has_ended(program->pid)) {
		if (egs_now_ms() - program->started_ms >= program->limit_ms)
			kill_group(program->pid);
		return 1;
	}
	kill_group(program->pid);
	waitpid(program->pid, &status, 0);
	program->pid = 0;
	return explain_status(&ended, status, err);
}

void egs_program_stop(struct egs_program *program)
{
	if (program->pid) {
		kill_group(program->pid);
		waitpid(program->pid, NULL, WNOHANG);
	}
	program->pid = 0;
}
