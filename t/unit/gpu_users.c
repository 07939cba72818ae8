/* gpu_users.c - which processes have GPUs open, and which of them are killed */
#define _GNU_SOURCE /* pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/node/leftovers.h"
#include "t/lib/unit/gpu_scan_fixture.h"

#define BY_PATH "010000000"

/* ---- what is open ---- */

static void test_files(void)
{
	int fd;

	start_proc();
	PROCESS(.pid = 11, .uid = BOB, .gpu = "/dev/zero", .flags = BY_PATH);
	PROCESS(.pid = 12, .uid = BOB, .gpu = "/dev/full");
	PROCESS(.pid = 13, .uid = BOB, .gpu = "/dev/null");
	ok(scan(EGS_GPUS_ALL) == 0 && users.n == 1 && find_user(12) &&
		   find_user(12)->gpu == 1,
	   "a file opened with O_PATH does not use a GPU");
	ok(scan(1) == 0 && users.n == 0,
	   "a GPU that is not wanted is not reported");
	make_link(11, "fd/6", "/dev/zero");
	write_proc(11, "fdinfo/6", "flags:\t02\n");
	ok(scan(1) == 0 && users.n == 1,
	   "a GPU opened after an O_PATH of it is reported");
	make_link(13, "ns/mnt", "mnt:[2]");
	make_link(13, "fd/7", "/proc/self/fd/9");
	write_proc(13, "fdinfo/7", "flags:\t02\n");
	fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	dup2(fd, 9);
	ok(scan(1) == 0 && find_user(13),
	   "in its own mount namespace a process hides no GPU by its name");
	close(9);
	close(fd);
}

static void test_many_users(void)
{
	start_proc();
	for (pid_t pid = 4190000; pid < 4190300; pid++)
		PROCESS(.pid = pid, .uid = BOB, .gpu = "/dev/zero");
	ok(scan(1) == 0 && users.n == 300,
	   "all of 300 processes that have a GPU open are found");
}

static void test_many_files(void)
{
	char name[16];

	start_proc();
	PROCESS(.pid = 50, .uid = BOB);
	for (int i = 100; i < 800; i++) {
		snprintf(name, sizeof(name), "fd/%d", i);
		make_link(50, name, i == 799 ? "/dev/zero" : "/tmp/x");
	}
	write_proc(50, "fdinfo/799", "flags:\t02\n");
	PROCESS(.pid = 51, .uid = BOB, .gpu = "/dev/full");
	ok(scan(EGS_GPUS_ALL) == 0 && users.n == 2 && !users.is_cut,
	   "a GPU among many files is found");
	ok(users.list[0].pid == 51,
	   "a process with many files does not delay the look at others");
}

/* ---- cannot look ---- */

/* A link that leads nowhere to itself cannot be opened: ELOOP. */
static void test_cannot_look(void)
{
	char path[256];

	start_proc();
	PROCESS(.pid = 11, .uid = BOB, .gpu = "/dev/zero");
	make_dir(12, "");
	make_link(12, "fd", "fd");
	write_proc(12, "status", "Name:\ta\nUid:\t%d\n", BOB);
	ok(scan(1) < 0,
	   "a scan fails if it cannot read the files of a process");
	snprintf(path, sizeof(path), "cannot read %s/12/fd: %s", top,
		 strerror(ELOOP));
	is_str(err.msg, path, "the sentence names the file of that process");

	start_proc();
	PROCESS(.pid = 11, .uid = BOB);
	write_proc(11, "fd/3", "not a link");
	ok(scan(1) < 0, "a scan fails if it may not read the link of a file");

	start_proc();
	PROCESS(.pid = 11, .uid = BOB, .gpu = "/dev/zero");
	snprintf(path, sizeof(path), "%s/11/environ", top);
	unlink(path);
	make_link(11, "environ", "environ");
	ok(scan(1) < 0 && strstr(err.msg, "/11/environ"),
	   "a scan fails if it cannot read an environment that it needs");

	start_proc();
	PROCESS(.pid = 11, .uid = BOB, .gpu = "/dev/zero");
	snprintf(path, sizeof(path), "%s/11/environ", top);
	unlink(path);
	make_dir(12, "");
	ok(scan(1) == 0, "a process that has ended meanwhile is not an error");

	egs_proc_set_root("/nonexistent");
	ok(scan(1) < 0, "a scan without /proc fails");
	egs_proc_set_root(top);
}

/* A FIFO that nobody writes stands for a file of /proc whose reader waits: a
 * process can keep its memory locked.
 */
static void make_silent(pid_t pid, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%d/%s", top, (int)pid, name);
	unlink(path);
	if (mkfifo(path, 0600) < 0)
		note("%s: no FIFO", path);
}

static void test_silent(void)
{
	start_proc();
	STEPD(.pid = 10, .uid = BOB, .title = "slurmstepd: [12.0]");
	PROCESS(.pid = 11, .uid = BOB, .gpu = "/dev/zero");
	PROCESS(.pid = 12, .uid = BOB, .gpu = "/dev/zero",
		.environ = NAMES "3");
	make_silent(10, "cmdline");
	make_silent(11, "environ");
	make_silent(11, "cmdline");
	alarm(60);
	ok(scan_job(12, BOB, 0) == 0 && find_user(11),
	   "the scan of a job reads no environment");
	egs_gpu_users_free(&users);
	egs_gpu_users_scan(&users, &gpus, 1, 0, &err);
	egs_gpu_users_identify(&users, 0, &err);
	egs_leftovers_kill(&users, 20, ALICE, 0);
	ok(find_user(11) && find_user(11)->fate == EGS_GPU_USER_UNCLEAR &&
		   find_user(12) && find_user(12)->fate == EGS_GPU_USER_UNCLEAR,
	   "a scan before a step reads no environment, and says so");
	ok(scan(1) == 0 && find_user(11)->step.source == EGS_STEP_UNKNOWN,
	   "a process that does not show its environment claims nothing");
	is_str(text_of(12), "pid 12 (python3) of uid 1001 that claims job 3",
	       "a silent process does not hide the claim of another");
	alarm(0);
}

/* ---- leftovers ---- */

static enum egs_gpu_user_fate fate_of(pid_t pid)
{
	const struct egs_gpu_user *user = find_user(pid);

	return user ? user->fate : EGS_GPU_USER_KILLED;
}

/* No process here has these pids, and the start times differ: nothing real is
 * killed.  The files stay, so whatever is killed "stays".
 */
static void test_fates(void)
{
	enum { BASE = 4190000 };

	start_proc();
	STEPD(.pid = 10, .title = "slurmstepd: [12.batch]",
	      .cgroup = SCOPE "job_12/step_batch/slurm\n");
	STEPD(.pid = 11, .title = "slurmstepd: [20.0]");
	PROCESS(.pid = BASE + 1, .parent = 10, .uid = ALICE,
		.gpu = "/dev/zero");
	PROCESS(.pid = BASE + 2, .uid = ALICE, .gpu = "/dev/zero",
		.environ = NAMES "3");
	PROCESS(.pid = BASE + 3, .uid = ALICE, .gpu = "/dev/zero",
		.cgroup = SCOPE "sENDED/step_0/user\n");
	PROCESS(.pid = BASE + 4, .uid = BOB, .gpu = "/dev/zero",
		.environ = NAMES "20");
	PROCESS(.pid = BASE + 5, .uid = BOB, .gpu = "/dev/zero",
		.environ = NAMES "12");
	PROCESS(.pid = BASE + 6, .uid = 0, .gpu = "/dev/zero",
		.environ = NAMES "3");
	PROCESS(.pid = BASE + 7, .uid = BOB, .gpu = "/dev/zero");
	PROCESS(.pid = BASE + 8, .uid = ALICE, .gpu = "/dev/zero",
		.environ = NAMES "20");
	scan(1);
	egs_leftovers_kill(&users, 20, ALICE, 0);
	is_int(fate_of(BASE + 1), EGS_GPU_USER_RUNS,
	       "a process of another job that runs is not killed");
	is_int(fate_of(BASE + 2), EGS_GPU_USER_STAYS,
	       "a process that claims an ended job is killed");
	is_int(fate_of(BASE + 3), EGS_GPU_USER_STAYS,
	       "a process of an ended job's SLUID group is killed");
	is_int(fate_of(BASE + 4), EGS_GPU_USER_STAYS,
	       "a claim of the starting job of another user is no shelter");
	is_int(fate_of(BASE + 5), EGS_GPU_USER_RUNS,
	       "a process that claims a running job is not killed");
	is_int(fate_of(BASE + 6), EGS_GPU_USER_IGNORED,
	       "a process of root is ignored");
	is_int(fate_of(BASE + 7), EGS_GPU_USER_IGNORED,
	       "a process of no job is ignored");
	is_int(fate_of(BASE + 8), EGS_GPU_USER_IGNORED,
	       "a process of the starting job is ignored");
}

/* ---- real processes ---- */

/* Start a process with GPU 1 open, and wait until exec() has closed its end of
 * the pipe.
 */
static pid_t start_child(char *const env[])
{
	int fds[2];
	pid_t pid;
	char c;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		if (open("/dev/full", O_RDONLY) >= 0)
			execle("/bin/sleep", "sleep", "100", (char *)NULL, env);
		_exit(1);
	}
	close(fds[1]);
	if (read(fds[0], &c, 1) != 0)
		note("the child does not start");
	close(fds[0]);
	return pid;
}

/* The kernel's files, without processes that a host may hide from us. */
static void show_real(pid_t pid)
{
	char from[32], to[64];

	snprintf(from, sizeof(from), "/proc/%ld", (long)pid);
	snprintf(to, sizeof(to), "%s/%ld", top, (long)pid);
	if (symlink(from, to) < 0)
		note("%s: no link", to);
}

static void test_real(void)
{
	static char node[] = "SLURMD_NODENAME=n1", id[] = "SLURM_JOB_ID=812";
	char *const of_job[] = { node, id, NULL };
	char *const of_login[] = { id, NULL };
	pid_t job = start_child(of_job), login = start_child(of_login);
	char text[80];

	start_proc();
	show_real(job);
	show_real(login);
	if (!ok(scan(EGS_GPUS_ALL) == 0, "real processes can be scanned"))
		note("%s", err.msg);
	snprintf(text, sizeof(text),
		 "pid %ld (sleep) of uid %u that claims "
		 "job 812",
		 (long)job, (unsigned)geteuid());
	is_str(text_of(job), text, "a real process has its claim");
	snprintf(text, sizeof(text), "pid %ld (sleep) of no job", (long)login);
	is_str(text_of(login), text,
	       "a process without SLURMD_NODENAME is in no job");
	for (size_t i = 0; i < users.n; i++)
		if (users.list[i].pid != job)
			users.list[i].step.source = EGS_STEP_UNKNOWN;
		else
			users.list[i].uid = BOB; /* root's are ignored */
	signal(SIGCHLD, SIG_IGN);		 /* no zombies */
	egs_leftovers_kill(&users, 20, ALICE, 10000);
	is_int(fate_of(job), EGS_GPU_USER_KILLED,
	       "a leftover is killed and waited for");
	ok(kill(login, 0) == 0, "a process of no job is still there");
	kill(login, SIGKILL);
	signal(SIGCHLD, SIG_DFL);
	ok(scan(EGS_GPUS_ALL) == 0 && !find_user(job),
	   "a process that was killed is not found again");
}

static void test_budget(void)
{
	/* A scan leaves out the process that scans. */
	const pid_t first = getpid() < 1100 ? 1100 : 100;
	char name[16];

	start_proc();
	PROCESS(.pid = 50, .uid = BOB);
	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "fd/%d", i);
		make_link(50, name, "/tmp/x");
	}
	ok(scan_job(12, ALICE, 1) == 0,
	   "files of another user take no time of the scan of a job");
	ok(scan_job(12, BOB, 1) < 0 &&
		   strstr(err.msg, "too many to examine in 1 ms"),
	   "a scan of a job that has too many files fails");
	egs_gpu_users_free(&users);
	ok(egs_gpu_users_scan(&users, &gpus, 1, 1, &err) == 0 && users.is_cut,
	   "a scan of 20000 files with 1 ms is cut short and says so");
	ok(egs_gpu_users_scan(&users, &gpus, 1, 0, &err) == 0 && !users.is_cut,
	   "a scan without a budget is complete");
	start_proc();
	for (pid_t pid = first; pid < first + 1000; pid++)
		PROCESS(.pid = pid, .parent = pid - 1, .gpu = "/dev/zero");
	egs_gpu_users_scan(&users, &gpus, 1, 0, &err);
	is_int((int)users.n, 1000, "all processes with a GPU are found");
	ok(egs_gpu_users_identify(&users, 1, &err) == 0 && users.is_cut,
	   "a search for 1000 steps with 1 ms is cut short and says so");
}

int main(void)
{
	plan_none();
	if (begin_scans() < 0)
		return 1;
	test_files();
	test_many_users();
	test_many_files();
	test_cannot_look();
	test_silent();
	test_fates();
	test_real();
	test_budget();
	end_scans();
	return done_testing();
}
