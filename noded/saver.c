/* saver.c - run a save program (--ckpt=cmd:)
 *
 * There are two processes.  The first process stays root, and kills the second
 * at the deadline.  The second process becomes the user before it opens any
 * file of the user.
 */
#define _GNU_SOURCE /* pipe2 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/fd.h"
#include "common/node/rundir.h"
#include "noded/follow_process.h"
#include "noded/job_processes.h"
#include "noded/saver.h"

enum {
	PIDS_SIZE = 64 << 10,
	EXIT_NOT_FOUND = 127, /* as in a shell */
	EXIT_FAILED = 126,    /* the sentence is in the pipe */
};

struct saver_process {
	const struct egs_saver *saver;
	struct egs_job_procs procs;
	char ckpt_dir[PATH_MAX + 64];
	int report_fd; /* pipe for the sentence of a failure */
	pid_t parent;
};

/* ---- in the process that becomes the program ---- */

/* Every file of egs-noded closes when the program starts.  close_range() would
 * be shorter, but not every kernel has it.
 */
static int close_files_on_exec(struct egs_err *err)
{
	DIR *list = opendir("/proc/self/fd");
	const struct dirent *entry;

	if (!list)
		return egs_errf(err, "/proc/self/fd: %s", strerror(errno));
	while ((entry = readdir(list))) {
		int fd = (int)strtol(entry->d_name, NULL, 10);

		if (fd > STDERR_FILENO)
			fcntl(fd, F_SETFD, FD_CLOEXEC);
	}
	closedir(list);
	return 0;
}

/* The user must be able to open the file, and a FIFO must not block.  -1: the
 * job has no stderr.
 */
static int open_job_stderr(const struct saver_process *run)
{
	int fd;

	egs_as_user_begin(run->saver->uid, run->procs.gid);
	fd = openat(run->procs.proc_fd, "fd/2",
		    O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	egs_as_user_end();
	if (fd >= 0)
		fcntl(fd, F_SETFL, O_APPEND);
	return fd;
}

/* Redirect the output of the program to stderr of the job. */
static int redirect_files(const struct saver_process *run, struct egs_err *err)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int out = open_job_stderr(run);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(out < 0 ? null : out, STDOUT_FILENO) < 0 ||
	    dup2(out < 0 ? null : out, STDERR_FILENO) < 0)
		return egs_errf(err, "cannot redirect files: %s",
				strerror(errno));
	return close_files_on_exec(err);
}

/* Call setuid() last, because the other calls need the rights of root.  A
 * change of the user clears the signal for the parent's death.
 */
static int become_user(const struct saver_process *run, struct egs_err *err)
{
	const struct egs_job_procs *p = &run->procs;
	uid_t uid = run->saver->uid;

	if (uid == 0 || setgroups(p->ngroups, p->group) < 0 ||
	    setgid(p->gid) < 0 || setuid(uid) < 0 || setuid(0) == 0)
		return egs_errf(err, "cannot become user %u", (unsigned)uid);
	if (p->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return egs_errf(err, "no_new_privs: %s", strerror(errno));
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != run->parent)
		return egs_errf(err, "egs-noded has ended");
	return 0;
}

/* Otherwise the program would possess the keys of egs-noded.  Where a kernel or
 * a filter has no keyrings, the program has none either.
 */
static int make_session_keyring(struct egs_err *err)
{
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0 ||
	    errno == ENOSYS || errno == EPERM)
		return 0;
	return egs_errf(err, "no session keyring: %s", strerror(errno));
}

static void reset_signals(void)
{
	sigset_t none;

	for (int signo = 1; signo < NSIG; signo++)
		signal(signo, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void set_environment(const struct saver_process *run)
{
	const struct egs_job_procs *p = &run->procs;
	static char pids[PIDS_SIZE];
	char number[24];
	size_t used = 0;
	char *at;

	clearenv();
	for (at = p->env; at < p->env + p->env_len; at += strlen(at) + 1)
		if (strchr(at, '='))
			putenv(at);
	for (size_t i = 0; i < p->n && used + 12 < sizeof(pids); i++)
		used += (size_t)snprintf(pids + used, sizeof(pids) - used,
					 "%s%d", i ? " " : "", (int)p->pid[i]);
	setenv("EGS_PIDS", pids, 1);
	snprintf(number, sizeof(number), "%" PRIu32, run->saver->job);
	setenv("EGS_JOB_ID", number, 1);
	snprintf(number, sizeof(number), "%" PRId64, run->saver->deadline_s);
	setenv("EGS_DEADLINE", number, 1);
	setenv("EGS_CKPT_DIR", run->ckpt_dir, 1);
	setenv(EGS_SAVER_ENV, "1", 1);
}

/* Make all directories of a path, as mkdir -p does. */
static void make_dirs(char *path)
{
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(path, 0777);
		*at = '/';
	}
	mkdir(path, 0777);
}

/* Files come first: with the limits of the job, none might be opened. */
static int prepare_process(struct saver_process *run, struct egs_err *err)
{
	if (redirect_files(run, err) < 0 ||
	    egs_follow_process(run->procs.first, run->procs.proc_fd, err) < 0 ||
	    become_user(run, err) < 0 || make_session_keyring(err) < 0)
		return -1;
	umask(run->procs.umask);
	if (chdir(run->procs.cwd) < 0)
		return egs_errf(err, "%s: %s", run->procs.cwd, strerror(errno));
	return 0;
}

__attribute__((noreturn)) static void become_program(struct saver_process *run)
{
	char program[EGS_SAVE_PROGRAM_SIZE];
	struct egs_err err;

	snprintf(program, sizeof(program), "%s", run->saver->program);
	setsid();
	reset_signals();
	if (prepare_process(run, &err) < 0) {
		egs_write_all(run->report_fd, err.msg, strlen(err.msg));
		_exit(EXIT_FAILED);
	}
	set_environment(run);
	make_dirs(run->ckpt_dir);
	execlp(program, program, (char *)NULL);
	_exit(EXIT_NOT_FOUND);
}

/* ---- in the process that waits for the program ---- */

/* Returns the exit status, or -1 if the program runs until the deadline. */
static int wait_for_exit(pid_t pid, int64_t deadline)
{
	struct timespec left = { .tv_sec = deadline - time(NULL) };
	sigset_t child;
	int status = -1;
	pid_t got;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while ((got = waitpid(pid, &status, WNOHANG)) == 0 && left.tv_sec > 0) {
		sigtimedwait(&child, NULL, &left);
		left.tv_sec = deadline - time(NULL);
	}
	kill(-pid, SIGKILL);
	if (got == 0)
		waitpid(pid, NULL, 0);
	return got == pid ? status : -1;
}

/* 'why' is the sentence of a process that did not become the program, or "". */
static int check_status(const struct egs_saver *saver, int status,
			const char *why, struct egs_err *err)
{
	const char *program = saver->program;

	if (status == -1)
		return egs_errf(err, "%s did not finish before the deadline",
				program);
	if (WIFSIGNALED(status))
		return egs_errf(err, "%s was killed by signal %d", program,
				WTERMSIG(status));
	if (WEXITSTATUS(status) == EXIT_NOT_FOUND)
		return egs_errf(err, "%s cannot be run", program);
	if (*why)
		return egs_errf(err, "%s cannot be run: %s", program, why);
	if (WEXITSTATUS(status))
		return egs_errf(err, "%s exited with status %d", program,
				WEXITSTATUS(status));
	return 0;
}

static void choose_ckpt_dir(struct saver_process *run)
{
	const char *own = egs_job_procs_getenv(&run->procs, "EGS_CKPT_DIR");

	if (own && *own == '/')
		snprintf(run->ckpt_dir, sizeof(run->ckpt_dir), "%s", own);
	else
		snprintf(run->ckpt_dir, sizeof(run->ckpt_dir),
			 "%s/egs-ckpt-%" PRIu32 "/%" PRIu32, run->procs.cwd,
			 run->saver->job, run->saver->restarts);
}

/* SIGCHLD is blocked so that sigtimedwait() does not miss the child's end. */
static int run_program(struct saver_process *run, struct egs_err *err)
{
	struct egs_err why = { "" };
	sigset_t child;
	int report[2], status;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC | O_NONBLOCK) < 0)
		return egs_errf(err, "pipe: %s", strerror(errno));
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	run->report_fd = report[1];
	run->parent = getpid();
	pid = fork();
	if (pid == 0)
		become_program(run);
	close(report[1]);
	if (pid < 0) {
		close(report[0]);
		return egs_errf(err, "fork: %s", strerror(errno));
	}
	status = wait_for_exit(pid, run->saver->deadline_s);
	if (egs_read_all(report[0], why.msg, sizeof(why.msg) - 1) < 0)
		why.msg[0] = '\0';
	close(report[0]);
	return check_status(run->saver, status, why.msg, err);
}

int egs_saver_run(const void *arg, char **bytes, size_t *len,
		  struct egs_err *err)
{
	struct saver_process *run = calloc(1, sizeof(*run));
	int rc = -1;

	if (!run)
		return egs_errf(err, "out of memory");
	run->saver = arg;
	run->procs.proc_fd = -1;
	if (run->saver->uid == 0)
		egs_errf(err, "save programs do not run for jobs of root");
	else if (egs_job_procs_find(&run->procs, run->saver->job,
				    run->saver->uid, run->saver->node,
				    err) == 0) {
		choose_ckpt_dir(run);
		rc = run_program(run, err);
	}
	if (rc == 0) {
		*bytes = strdup(run->ckpt_dir);
		*len = *bytes ? strlen(*bytes) : 0;
	}
	egs_job_procs_free(&run->procs);
	free(run);
	return rc;
}
