/* saver.c - a save program runs as the job's user, under the job's conditions
 *
 * A copy of the shell plays slurmstepd, and this test its job.  Only root can
 * become another user; other users skip this test.
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "noded/follow_process.h"
#include "noded/job_processes.h"
#include "noded/saver.h"
#include "t/lib/unit/tap.h"

#define USER 64001

/* No other run of this test on this machine has the same job. */
static uint32_t job_id;

static char top[] = "/tmp/egs-saver.XXXXXX";
static char self_exe[PATH_MAX], fake_stepd[64];
static pid_t job, stepd;
static bool private_mounts; /* the next job has a mount namespace */

/* What the job limits itself to. */
enum { JOB_OOM_SCORE = 300, JOB_NICE = 7, JOB_FILES = 99 };

static void set_conditions(void)
{
	const struct rlimit files = { JOB_FILES, JOB_FILES + 1 };
	FILE *score = fopen("/proc/self/oom_score_adj", "we");
	cpu_set_t all, one;
	int cpu = 0;

	sched_getaffinity(0, sizeof(all), &all);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (!score || fprintf(score, "%d", JOB_OOM_SCORE) < 0 ||
	    fclose(score) != 0 || setpriority(PRIO_PROCESS, 0, JOB_NICE) < 0 ||
	    sched_setaffinity(0, sizeof(one), &one) < 0 ||
	    setrlimit(RLIMIT_NOFILE, &files) < 0)
		_exit(1);
}

/* The job: a process with a child that has cleared its environment.  File 1 is
 * for the process id.
 */
static int play_job(const char *dir, const char *script)
{
	static const gid_t groups[] = { 64002, 64003 };

	setenv("COLOUR", "red", 1);
	umask(027);
	set_conditions();
	if (setgroups(2, groups) < 0 || setgid(USER) < 0 || setuid(USER) < 0 ||
	    chdir(dir) < 0 ||
	    dup2(open("errors", O_CREAT | O_WRONLY | O_APPEND, 0600), 2) < 0)
		return 1;
	execl("/bin/sh", "sh", "-c", script, (char *)NULL);
	return 1;
}

/* The job sees its own file system on private/. */
static void unshare_mounts(void)
{
	char dir[64], file[80];
	int fd;

	snprintf(dir, sizeof(dir), "%s/private", top);
	snprintf(file, sizeof(file), "%s/seen", dir);
	mkdir(dir, 0755);
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL) < 0 ||
	    mount("egs", dir, "tmpfs", 0, NULL) < 0)
		_exit(1);
	fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0)
		_exit(1);
	close(fd);
}

/* The title of the slurmstepd of a step of job 'id'. */
static const char *format_title(uint64_t id, const char *step)
{
	static char title[64];

	snprintf(title, sizeof(title), "slurmstepd: [%" PRIu64 ".%s]", id,
		 step);
	return title;
}

/* Start 'program' with this title, and wait for the process id of the job that
 * it starts.  The same program starts the job in a copy of this test.
 */
static pid_t start_job(const char *program, const char *title,
		       const char *script)
{
	int ready[2];
	char id[16], text[16] = "";
	ssize_t n;

	if (pipe(ready) < 0)
		return 0;
	snprintf(id, sizeof(id), "%u", job_id);
	stepd = fork();
	if (stepd == 0) {
		setsid();
		if (private_mounts)
			unshare_mounts();
		dup2(ready[1], 1);
		setenv("SLURM_JOB_ID", id, 1);
		setenv("SLURMD_NODENAME", "n1", 1);
		execl(program, title, "-c", "\"$@\" & wait", "sh", self_exe,
		      "job", top, script, (char *)NULL);
		_exit(1);
	}
	close(ready[1]);
	n = read(ready[0], text, sizeof(text) - 1);
	close(ready[0]);
	return n > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}

static void end_job(void)
{
	kill(-stepd, SIGKILL);
	waitpid(stepd, NULL, 0);
}

/* Run a save program with this text.  Returns the path of the checkpoint, or
 * why the program failed.
 */
static const char *save(const char *text, int64_t seconds, uid_t uid)
{
	static struct egs_err err;
	struct egs_saver saver = { .job = job_id,
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

	snprintf(dir, sizeof(dir), "%s/egs-ckpt-%u/2", top, job_id);
	is_str(save("cd $EGS_CKPT_DIR && id -u >u && id -g >g && id -G >G &&"
		    "umask >m && echo $COLOUR >c && echo $EGS_PIDS >p &&"
		    "echo $EGS_JOB_ID >j && echo said",
		    60, USER),
	       dir,
	       "a save program that succeeds returns the checkpoint's path");
	ok(stat(dir, &is) == 0 && is.st_uid == USER &&
		   (is.st_mode & 07777) == 0750,
	   "the directory of the checkpoint belongs to the job's user");
	snprintf(dir, sizeof(dir), "egs-ckpt-%u/2/u", job_id);
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
	snprintf(want, sizeof(want), "%u\n", job_id);
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

/* ---- conditions of the job ---- */

static const char *checkpoint(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "egs-ckpt-%u/2/%s", job_id, name);
	return in(path);
}

static void test_conditions(void)
{
	static const char cpus[] = "sed -n s/^Cpus_allowed_list://p "
				   "/proc/$pid/status";
	char text[512], job_cpus[64];

	snprintf(text, sizeof(text),
		 "cd $EGS_CKPT_DIR && cat /proc/self/oom_score_adj >oom && "
		 "nice >nice && ulimit -Sn >files && ulimit -Hn >hard && "
		 "pid=self; %s >cpus; pid=${EGS_PIDS%%%% *}; %s >job-cpus; "
		 "ls /proc/self/fd >open; cat /proc/keys >keys 2>/dev/null; :",
		 cpus, cpus);
	save(text, 60, USER);
	is_str(checkpoint("oom"), "300\n",
	       "the save program has the job's OOM score");
	is_str(checkpoint("nice"), "7\n",
	       "the save program has the job's nice value");
	is_str(checkpoint("files"), "99\n",
	       "the save program has the job's soft limit of open files");
	is_str(checkpoint("hard"), "100\n",
	       "the save program has the job's hard limit of open files");
	snprintf(job_cpus, sizeof(job_cpus), "%s", checkpoint("job-cpus"));
	is_str(checkpoint("cpus"), job_cpus,
	       "the save program has the job's CPUs");
	is_str(checkpoint("open"), "0\n1\n2\n3\n",
	       "the save program has no other file than its own directory");
	ok(!strstr(checkpoint("keys"), "egs-secret"),
	   "the save program does not see keys of its parent");
}

static void drop_sys_admin(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct sets[2];

	if (syscall(SYS_capget, &head, sets) < 0)
		_exit(1);
	sets[0].effective &= ~(1U << CAP_SYS_ADMIN);
	sets[0].permitted &= ~(1U << CAP_SYS_ADMIN);
	if (syscall(SYS_capset, &head, sets) < 0)
		_exit(1);
}

/* Save in a process with fewer rights, as the service of egs-noded has. */
static bool saves_without_sys_admin(const char *text)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		drop_sys_admin();
		_exit(*save(text, 60, USER) == '/' ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	return status == 0;
}

static void test_mount_namespace(void)
{
	end_job();
	private_mounts = true;
	job = start_job(fake_stepd, format_title(job_id, "batch"),
			"echo $$; sleep 600");
	private_mounts = false;
	if (!job) {
		ok(true, "mount namespaces do not work here # SKIP");
		return;
	}
	ok(*save("test -e private/seen", 60, USER) == '/',
	   "the save program sees the file systems of the job");
	ok(saves_without_sys_admin("test -e private/seen"),
	   "the save program sees them without CAP_SYS_ADMIN, too");
	ok(!saves_without_sys_admin("test ! -e private/seen"),
	   "a save program that does not find its file fails");
	ok(*save("grep -q 'NoNewPrivs:.1' /proc/self/status", 60, USER) == '/',
	   "no program gets more rights in the mount namespace of a job");
}

static bool has_own_user_namespace(pid_t pid)
{
	char path[64], its[64] = "", ours[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	return readlink(path, its, sizeof(its) - 1) > 0 &&
	       readlink("/proc/self/ns/user", ours, sizeof(ours) - 1) > 0 &&
	       strcmp(its, ours) != 0;
}

/* Follow the process in a child.  Returns the refusal, "": none. */
static const char *follow(const struct egs_job_procs *procs)
{
	static struct egs_err err;
	int report[2];
	ssize_t n;

	err.msg[0] = '\0';
	if (pipe(report) < 0)
		return "";
	if (fork() == 0) {
		if (egs_follow_process(procs->first, procs->proc_fd, &err) == 0)
			err.msg[0] = '\0';
		_exit(write(report[1], err.msg, strlen(err.msg)) < 0);
	}
	close(report[1]);
	n = read(report[0], err.msg, sizeof(err.msg) - 1);
	err.msg[n > 0 ? n : 0] = '\0';
	close(report[0]);
	wait(NULL);
	return err.msg;
}

/* The files there are of the user's making, also those that programs with a
 * setuid bit believe.  At SIGUSR1 the process swaps its namespaces.
 */
static void test_swapped_namespace(void)
{
	static struct egs_job_procs procs;
	struct egs_err err = { "" };

	end_job();
	job = start_job(fake_stepd, format_title(job_id, "batch"),
			"trap 'exec unshare -U -m sleep 600' USR1; echo $$; "
			"while :; do sleep 0.1; done");
	ok(egs_job_procs_find(&procs, job_id, USER, "n1", &err) == 0 &&
		   procs.first == job,
	   "a job without namespaces of its own is found: %s", err.msg);
	kill(job, SIGUSR1);
	for (int i = 0; i < 600 && !has_own_user_namespace(job); i++)
		poll(NULL, 0, 100);
	if (!has_own_user_namespace(job))
		ok(true, "user namespaces do not work here # SKIP");
	else
		is_str(follow(&procs),
		       "the job's mount namespace is of a user namespace of "
		       "its "
		       "own",
		       "a mount namespace that the user makes after the check "
		       "is not entered");
	egs_job_procs_free(&procs);
	is_str(save("true", 60, USER),
	       "all processes of the job are in user namespaces of their own",
	       "a save program does not run in a user namespace of the job");
}

/* egs-noded has files and keys that no program may get. */
static void make_secrets(void)
{
	syscall(SYS_keyctl, 1 /* KEYCTL_JOIN_SESSION_KEYRING */, NULL);
	syscall(SYS_add_key, "user", "egs-secret", "x", (size_t)1,
		-3 /* KEY_SPEC_SESSION_KEYRING */);
	if (open("/dev/null", O_RDONLY) < 0) /* without O_CLOEXEC */
		note("no file is open");
}

/* Without a file the program's loader fails, and says so on stderr. */
static void test_few_files(void)
{
	end_job();
	job = start_job(fake_stepd, format_title(job_id, "batch"),
			"sleep 600 & : >errors; ulimit -Sn 3; echo $$; wait");
	ok(job > 0, "a job that may open no file runs");
	save("true", 60, USER);
	ok(strstr(in("errors"), "shared") != NULL,
	   "errors of a program that may open no file go to the job: %s",
	   in("errors"));
}

static void test_impostors(void)
{
	static const char script[] = "echo $$; sleep 600";

	end_job();
	job = start_job("/bin/sh", "sh", script);
	is_str(save("true", 60, USER), "the job has no process on n1",
	       "a process that claims the job's id is not the job's");
	end_job();
	job = start_job("/bin/sh", format_title(job_id, "batch"), script);
	is_str(save("true", 60, USER), "the job has no process on n1",
	       "a process called slurmstepd with another executable is none");
	end_job();
	job = start_job(fake_stepd, format_title(job_id, "extern"), script);
	is_str(save("true", 60, USER), "the job has no process on n1",
	       "the step extern has no process of the job");
	end_job();
	job = start_job(fake_stepd,
			format_title(job_id * UINT64_C(10) + 1, "batch"),
			script);
	is_str(save("true", 60, USER), "the job has no process on n1",
	       "a slurmstepd of another job has no process of the job");
	end_job();
}

static bool set_up(void)
{
	char command[200];
	ssize_t n = readlink("/proc/self/exe", self_exe, sizeof(self_exe) - 1);

	snprintf(fake_stepd, sizeof(fake_stepd), "%s/slurmstepd", top);
	snprintf(command, sizeof(command), "cp /bin/sh %s", fake_stepd);
	return n > 0 && system(command) == 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "job") == 0)
		return play_job(argv[2], argv[3]);
	plan_none();
	job_id = 4000000000U + (uint32_t)getpid();
	if (geteuid() != 0) {
		ok(true, "only root can become another user # SKIP");
		return done_testing();
	}
	if (!mkdtemp(top) || chown(top, USER, USER) < 0 || !set_up())
		return 1;
	make_secrets();
	job = start_job(fake_stepd, format_title(job_id, "batch"),
			"env -i sleep 600 & echo $$; trap '' HUP; wait");
	if (ok(job > 0, "a job runs")) {
		test_identity();
		test_conditions();
		test_failures();
		test_few_files();
		test_mount_namespace();
		test_swapped_namespace();
		test_impostors();
	}
	if (fork() == 0)
		execl("/bin/rm", "rm", "-rf", top, (char *)NULL);
	wait(NULL);
	return done_testing();
}
