/* rundir_fixture.h - a run directory and a fake egs-noded, for unit tests
 *
 * rundir_make()	make a directory with a flag; the environment is job 7's
 * rundir_ask(n)	write preemption notice 'n'; 0: none
 * noded_start(fn)	start a child that reads each message and sends the
 *			answer that 'fn' writes; "": no answer
 * noded_stop(), rundir_remove()
 */
#ifndef EGS_T_RUNDIR_FIXTURE_H
#define EGS_T_RUNDIR_FIXTURE_H

#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ipc/rundir_layout.h"

static char rundir[] = "/tmp/egs-rundir-XXXXXX";
static pid_t noded;

static inline void rundir_ask(uint32_t request)
{
	struct egs_rundir_flag flag = { .notice = request,
					.kind = EGS_NOTICE_YIELD,
					.deadline = 5000 };
	int fd = open("flag", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	memcpy(flag.magic, EGS_RUNDIR_FLAG_MAGIC, sizeof(flag.magic));
	if (fd < 0 || pwrite(fd, &flag, sizeof(flag), 0) != sizeof(flag))
		err(1, "flag");
	close(fd);
}

static inline void rundir_make(void)
{
	if (!mkdtemp(rundir) || chdir(rundir) < 0 || mkdir("out", 0700) < 0 ||
	    mkdir("in", 0700) < 0)
		err(1, "%s", rundir);
	rundir_ask(0);
	setenv(EGS_RUNDIR_ENV, rundir, 1);
	setenv("SLURM_JOB_ID", "7", 1);
	unsetenv("SLURM_RESTART_COUNT");
	unsetenv("SLURM_STEP_ID");
}

static inline void rundir_remove(void)
{
	if (chdir("/") < 0 || fork() == 0)
		execlp("rm", "rm", "-rf", rundir, (char *)NULL);
	wait(NULL);
}

/* Messages are also appended to the file 'said', a line each. */
static inline void noded_take(const char *name,
			      void (*fn)(const char *text, char answer[4096]))
{
	char path[512], text[EGS_RUNDIR_MESSAGE_MAX + 1] = "";
	char answer[4096] = "";
	FILE *f;

	snprintf(path, sizeof(path), "out/%s", name);
	f = fopen(path, "re");
	if (!f || fread(text, 1, sizeof(text) - 1, f) == 0 || fclose(f) != 0)
		err(1, "%s", path);
	unlink(path);
	f = fopen("said", "ae");
	fprintf(f, "%s\n", text);
	fclose(f);
	fn(text, answer);
	if (!*answer)
		return;
	f = fopen(".answer", "we");
	fputs(answer, f);
	fclose(f);
	snprintf(path, sizeof(path), "in/%s", name);
	rename(".answer", path);
}

static inline void noded_start(void (*fn)(const char *text, char answer[4096]))
{
	noded = fork();
	if (noded != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		DIR *dir = opendir("out");
		const struct dirent *entry;

		while (dir && (entry = readdir(dir)))
			if (entry->d_name[0] != '.')
				noded_take(entry->d_name, fn);
		if (dir)
			closedir(dir);
		poll(NULL, 0, 5);
	}
}

static inline void noded_stop(void)
{
	kill(noded, SIGKILL);
	waitpid(noded, NULL, 0);
}

#endif
