/* saver.c - a program is run as the user of a job, with what the job has
 *
 * A child plays the job.  Only root can be another user, so others are told
 * that this is not for them.
 */
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "noded/job_processes.h"
#include "noded/saver.h"
#include "t/lib/unit/tap.h"

#define JOB  4100000001U
#define USER 64001

static char top[] = "/tmp/egs-saver.XXXXXX";
static pid_t job;

/* The job: a process with a child that has cleared its environment. */
static void play_job(int ready)
{
	static const gid_t groups[] = { 64002, 64003 };
	char id[16];

	snprintf(id, sizeof(id), "%u", JOB);
	setenv("SLURM_JOB_ID", id, 1);
	setenv("SLURMD_NODENAME", "n1", 1);
	setenv("COLOUR", "red", 1);
	umask(027);
	if (setgroups(2, groups) < 0 || setgid(USER) < 0 || setuid(USER) < 0 ||
	    chdir(top) < 0 || dup2(ready, 1) < 0 ||
	    dup2(open("errors", O_CREAT | O_WRONLY | O_APPEND, 0600), 2) < 0)
		_exit(1);
	execl("/bin/sh", "sh", "-c",
	      "env -i sleep 600 & echo; trap '' HUP; wait", (char *)NULL);
	_exit(1);
}

static bool start_job(void)
{
	int ready[2];
	char byte;
	bool there;

	if (pipe(ready) < 0)
		return false;
	job = fork();
	if (job == 0) {
		setsid();
		play_job(ready[1]);
	}
	close(ready[1]);
	there = read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	return there;
}

/* Run a program with this text; "" or why it failed. */
static const char *save(const char *text, int64_t seconds, uid_t uid)
{
	static struct egs_err err;
	struct egs_saver saver = { .job = JOB,
				   .restarts = 2,
				   .uid = uid,
				   .deadline_s = time(NULL) + seconds,
				   .node = "n1",
				   .program = "./save" };
	char path[64], *bytes = NULL;
	size_t len = 0;
	FILE *f;
	int rc;

	snprintf(path, sizeof(path), "%s/save", top);
	unlink(path);
	f = text ? fopen(path, "we") : NULL;
	if (f) {
		fprintf(f, "#!/bin/sh\n%s\n", text);
		fchmod(fileno(f), 0755);
		fclose(f);
	}
	rc = egs_saver_run(&saver, &bytes, &len, &err);
	if (rc == 0)
		snprintf(err.msg, sizeof(err.msg), "%.*s", (int)len, bytes);
	free(bytes);
	return err.msg;
}

/* What is in a file below 'top'. */
static const char *in(const char *name)
{
	static char text[512];
	char path[128];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	f = fopen(path, "re");
	n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	return text;
}

static void test_who(void)
{
	char dir[64], want[64];
	struct stat is;

	snprintf(dir, sizeof(dir), "%s/egs-ckpt-%u/2", top, JOB);
	is_str(save("cd $EGS_CKPT_DIR && id -u >u && id -g >g && id -G >G &&"
		    "umask >m && echo $COLOUR >c && echo $EGS_PIDS >p &&"
		    "echo $EGS_JOB_ID >j && echo said",
		    60, USER),
	       dir, "a program that succeeds has made a checkpoint");
	ok(stat(dir, &is) == 0 && is.st_uid == USER &&
		   (is.st_mode & 07777) == 0750,
	   "in a directory of its user");
	snprintf(dir, sizeof(dir), "egs-ckpt-%u/2/u", JOB);
	is_str(in(dir), "64001\n", "it is the user");
	dir[strlen(dir) - 1] = 'g';
	is_str(in(dir), "64001\n", "has the group");
	dir[strlen(dir) - 1] = 'G';
	is_str(in(dir), "64001 64002 64003\n", "all groups of the job");
	dir[strlen(dir) - 1] = 'm';
	is_str(in(dir), "0027\n", "its umask");
	dir[strlen(dir) - 1] = 'c';
	is_str(in(dir), "red\n", "its environment");
	dir[strlen(dir) - 1] = 'j';
	snprintf(want, sizeof(want), "%u\n", JOB);
	is_str(in(dir), want, "and knows the job");
	dir[strlen(dir) - 1] = 'p';
	snprintf(want, sizeof(want), "%d ", (int)job);
	ok(strncmp(in(dir), want, strlen(want)) == 0 &&
		   strchr(in(dir) + strlen(want), ' ') == NULL,
	   "and its two processes, the first one first: %s", in(dir));
	is_str(in("errors"), "said\n",
	       "what it prints is with the job's errors");
}

/* It may be a zombie until somebody looks after it. */
static bool is_gone(const char *pid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat",
		 (int)strtol(pid, NULL, 10));
	for (int i = 0; i < 600; i++) {
		f = fopen(path, "re");
		if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			state = 'X';
		if (f)
			fclose(f);
		if (state == 'X' || state == 'Z')
			return true;
		poll(NULL, 0, 100);
	}
	return false;
}

static void test_failures(void)
{
	is_str(save("exit 3", 60, USER), "./save ended with status 3",
	       "a status is told");
	is_str(save("kill -9 $$", 60, USER), "./save was ended by signal 9",
	       "a signal is told");
	is_str(save(NULL, 60, USER), "./save cannot be run",
	       "what is not there is told");
	is_str(save("sleep 600 & echo $! >left; wait", 1, USER),
	       "./save was not done at the deadline", "a deadline is one");
	ok(is_gone(in("left")), "and nothing of it is left");
	is_str(save("id -u >root", 60, 0), "nothing is run for root",
	       "root has no program");
	ok(*in("root") == '\0', "not at all");
	is_str(save("true", 60, USER + 1), "it has no process on n1",
	       "another user has no job here");
}

int main(void)
{
	plan_none();
	if (geteuid() != 0) {
		ok(true, "only root can be another user # SKIP");
		return done_testing();
	}
	if (!mkdtemp(top) || chown(top, USER, USER) < 0)
		return 1;
	if (ok(start_job(), "a job runs")) {
		test_who();
		test_failures();
	}
	kill(-job, SIGKILL);
	waitpid(job, NULL, 0);
	if (fork() == 0)
		execl("/bin/rm", "rm", "-rf", top, (char *)NULL);
	wait(NULL);
	return done_testing();
}
