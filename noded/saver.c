/* saver.c - run a save program (--ckpt=cmd:)
 *
 * There are two processes.  The first process stays root, and kills the second
 * at the deadline.  The second process becomes the user before it opens any
 * file of the user.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
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

#include "noded/job_processes.h"
#include "noded/saver.h"

enum {
	PIDS_SIZE = 64 << 10,
	EXIT_NOT_FOUND = 127,	  /* as in a shell */
	EXIT_NOT_PERMITTED = 126, /* the child could not become the user */
};

struct saver_process {
	const struct egs_saver *saver;
	struct egs_job_procs procs;
	char ckpt_dir[PATH_MAX + 64];
};

/* ---- in the process that becomes the program ---- */

/* Call setuid() last, because the other calls need the rights of root. */
static int become_user(const struct saver_process *run)
{
	const struct egs_job_procs *p = &run->procs;
	uid_t uid = run->saver->uid;

	if (uid == 0 || egs_job_procs_join_cgroups(p, NULL) < 0)
		return -1;
	egs_job_procs_copy_limits(p);
	if (setgroups(p->ngroups, p->group) < 0 || setgid(p->gid) < 0 ||
	    setuid(uid) < 0 || setuid(0) == 0)
		return -1;
	return prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Redirect the output of the program to stderr of the job. */
static void redirect_output(const struct saver_process *run)
{
	char path[64];
	int null = open("/dev/null", O_RDWR), fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/2", (int)run->procs.pid[0]);
	fd = open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0)
		fcntl(fd, F_SETFL, O_APPEND);
	dup2(null, STDIN_FILENO);
	dup2(fd < 0 ? null : fd, STDOUT_FILENO);
	dup2(fd < 0 ? null : fd, STDERR_FILENO);
	syscall(SYS_close_range, 3U, ~0U, 0U);
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

__attribute__((noreturn)) static void become_program(struct saver_process *run)
{
	char program[EGS_SAVE_PROGRAM_SIZE];

	snprintf(program, sizeof(program), "%s", run->saver->program);
	setsid();
	reset_signals();
	if (become_user(run) < 0)
		_exit(EXIT_NOT_PERMITTED);
	umask(run->procs.umask);
	redirect_output(run);
	if (chdir(run->procs.cwd) < 0)
		_exit(EXIT_NOT_PERMITTED);
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

static int check_status(const struct egs_saver *saver, int status,
			struct egs_err *err)
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
	if (WEXITSTATUS(status) == EXIT_NOT_PERMITTED)
		return egs_errf(err, "%s cannot be run as the job's user",
				program);
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
	sigset_t child;
	pid_t pid;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	pid = fork();
	if (pid < 0)
		return egs_errf(err, "fork: %s", strerror(errno));
	if (pid == 0)
		become_program(run);
	return check_status(run->saver,
			    wait_for_exit(pid, run->saver->deadline_s), err);
}

int egs_saver_run(const void *arg, char **bytes, size_t *len,
		  struct egs_err *err)
{
	struct saver_process *run = calloc(1, sizeof(*run));
	int rc = -1;

	if (!run)
		return egs_errf(err, "out of memory");
	run->saver = arg;
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
