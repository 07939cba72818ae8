/* saver.c - a save program runs as the job's user, with the job's environment
 *
 * A child plays the job.  Only root can become another user; other users skip
 * this test.
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
	bool started;

	if (pipe(ready) < 0)
		return false;
	job = fork();
	if (job == 0) {
		setsid();
		play_job(ready[1]);
	}
	close(ready[1]);
	started = read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	return started;
}

/* Run a save program with this text.  Returns the path of the checkpoint, or
 * why the program failed.
 */
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

/* The content of a file below 'top'. */
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

static void test_identity(void)
{
	char dir[64], want[64];
	struct stat is;

	snprintf(dir, sizeof(dir), "%s/egs-ckpt-%u/2", top, JOB);
	is_str(save("cd $EGS_CKPT_DIR && id -u >u && id -g >g && id -G >G &&"
		    "umask >m && echo $COLOUR >c && echo $EGS_PIDS >p &&"
		    "echo $EGS_JOB_ID >j && echo said",
		    60, USER),
	       dir,
	       "a save program that succeeds returns the checkpoint's path");
	ok(stat(dir, &is) == 0 && is.st_uid == USER &&
		   (is.st_mode & 07777) == 0750,
	   "the directory of the checkpoint belongs to the job's user");
	snprintf(dir, sizeof(dir), "egs-ckpt-%u/2/u", JOB);
	is_str(in(dir), "64001\n", "the save program has the job's user");
	dir[strlen(dir) - 1] = 'g';
	is_str(in(dir), "64001\n", "the save program has the job's group");
	dir[strlen(dir) - 1] = 'G';
	is_str(in(dir), "64001 64002 64003\n",
	       "the save program has all groups of the job");
	dir[strlen(dir) - 1] = 'm';
	is_str(in(dir), "0027\n", "the save program has the job's umask");
	dir[strlen(dir) - 1] = 'c';
	is_str(in(dir), "red\n", "the save program has the job's environment");
	dir[strlen(dir) - 1] = 'j';
	snprintf(want, sizeof(want), "%u\n", JOB);
	is_str(in(dir), want, "EGS_JOB_ID is the id of the job");
	dir[strlen(dir) - 1] = 'p';
	snprintf(want, sizeof(want), "%d ", (int)job);
	ok(strncmp(in(dir), want, strlen(want)) == 0 &&
		   strchr(in(dir) + strlen(want), ' ') == NULL,
	   "EGS_PIDS has both processes of the job, the parent first: %s",
	   in(dir));
	is_str(in("errors"), "said\n",
	       "output of the save program goes to the job's stderr");
}

/* An ended process may stay a zombie until its parent waits for it. */
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
	is_str(save("exit 3", 60, USER), "./save exited with status 3",
	       "the refusal names the exit status");
	is_str(save("kill -9 $$", 60, USER), "./save was killed by signal 9",
	       "the refusal names the signal");
	is_str(save(NULL, 60, USER), "./save cannot be run",
	       "a missing program is refused");
	is_str(save("sleep 600 & echo $! >left; wait", 1, USER),
	       "./save did not finish before the deadline",
	       "a program that runs until the deadline has failed");
	ok(is_gone(in("left")), "children of the program are killed, too");
	is_str(save("id -u >root", 60, 0),
	       "save programs do not run for jobs of root",
	       "a save program is refused for root");
	ok(*in("root") == '\0', "no program runs as root");
	is_str(save("true", 60, USER + 1), "the job has no process on n1",
	       "processes of another user are not the job's");
}

int main(void)
{
	plan_none();
	if (geteuid() != 0) {
		ok(true, "only root can become another user # SKIP");
		return done_testing();
	}
	if (!mkdtemp(top) || chown(top, USER, USER) < 0)
		return 1;
	if (ok(start_job(), "a job runs")) {
		test_identity();
		test_failures();
	}
	kill(-job, SIGKILL);
	waitpid(job, NULL, 0);
	if (fork() == 0)
		execl("/bin/rm", "rm", "-rf", top, (char *)NULL);
	wait(NULL);
	return done_testing();
}
