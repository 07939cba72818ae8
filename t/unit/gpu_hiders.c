/* gpu_hiders.c - a process that hides a GPU from the scan of its job is found
 *
 * Some hide it where a scan does not look, some start others and end while a
 * scan looks (gpu_movers.c has more of these).  The processes are real.  A
 * directory in place of /proc shows one of them at a time, and a process 1 that
 * has our mounts.  /dev/zero and /dev/full are the GPUs 0 and 1.
 */
#define _GNU_SOURCE /* pipe2, unshare */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/node/gpu_users.h"
#include "common/node/proc.h"
#include "t/lib/unit/pass_file.h"
#include "t/lib/unit/tap.h"

enum { ALICE = 1000, BOB = 1001 };

#define JOB 4000000000U /* no cluster that runs here has such a job */

static char top[] = "/tmp/egs-gpu-hiders.XXXXXX";
static struct egs_node_gpus gpus;
static struct egs_gpu_users users;
static struct egs_err err;

static int scan_job_in(uid_t uid, uint32_t budget_ms)
{
	egs_gpu_users_free(&users);
	if (egs_gpu_users_scan_job(&users, &gpus, JOB, uid, budget_ms, &err) <
	    0)
		return -1;
	return egs_gpu_users_identify(&users, 0, &err);
}

static int scan_job(uid_t uid)
{
	return scan_job_in(uid, 0);
}

/* Process 1 is not root's, so that nobody asks for its program. */
static void show_only(pid_t pid)
{
	char command[400];

	snprintf(command, sizeof(command),
		 "cd %s && rm -rf [0-9]* && mkdir -p 1/ns && "
		 "ln -s \"$(readlink /proc/self/ns/mnt)\" 1/ns/mnt && "
		 "printf 'Name:\\t1\\nUid:\\t1\\n' >1/status && "
		 "ln -s /proc/%ld .",
		 top, (long)pid);
	if (system(command) != 0) /* NOLINT */
		note("%s: failed", command);
}

/* Start a process of BOB that calls 'hide' first. */
static pid_t start_hider(void (*hide)(void))
{
	int fds[2];
	pid_t pid;
	char c = 'x';

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		hide();
		if (setuid(BOB) < 0 || write(fds[1], &c, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(fds[1]);
	if (read(fds[0], &c, 1) != 1)
		note("the process does not hide anything");
	close(fds[0]);
	return pid;
}

static void end_hider(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A helper with the same files has mounts of its own and ends. */
static void open_by_other_name(void)
{
	char alias[64];
	long helper = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);

	snprintf(alias, sizeof(alias), "%s/alias", top);
	if (helper == 0) {
		close(open(alias, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
		if (unshare(CLONE_NEWNS) < 0 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("/dev/full", alias, NULL, MS_BIND, NULL) < 0 ||
		    open(alias, O_RDONLY) < 0)
			_exit(1);
		_exit(0);
	}
	waitpid((pid_t)helper, NULL, 0);
}

static void map_and_close(void)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(1);
	close(fd);
}

static void send_to_itself(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		_exit(1);
	send_file(pair[0], open("/dev/zero", O_RDONLY | O_CLOEXEC));
}

static void register_and_close(void)
{
	struct io_uring_params params = { .flags = 0 };
	long ring = syscall(SYS_io_uring_setup, 4, &params);
	int files[2] = { -1, open("/dev/zero", O_RDONLY | O_CLOEXEC) };

	if (ring >= 0 && syscall(SYS_io_uring_register, ring,
				 IORING_REGISTER_FILES, files, 2) < 0)
		_exit(1);
	close(files[1]);
}

static void make_empty_ring(void)
{
	struct io_uring_params params = { .flags = 0 };

	if (syscall(SYS_io_uring_setup, 4, &params) < 0)
		note("no io_uring here");
}

static void *open_in_thread(void *arg)
{
	if (unshare(CLONE_FILES) < 0 ||
	    open("/dev/full", O_RDONLY | O_CLOEXEC) < 0 ||
	    write(*(int *)arg, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
	return NULL;
}

static void open_in_own_table(void)
{
	int ready[2];
	pthread_t thread;
	char c;

	if (pipe2(ready, O_CLOEXEC) < 0 ||
	    pthread_create(&thread, NULL, open_in_thread, &ready[1]) != 0 ||
	    read(ready[0], &c, 1) != 1)
		_exit(1);
}

/* The first thread ends, and with it what /proc/PID shows of memory. */
static void *end_first_thread(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

static pid_t start_headless(void)
{
	pid_t pid = fork();
	pthread_t thread;
	struct egs_proc_stat stat;

	if (pid == 0) {
		map_and_close();
		if (setuid(BOB) < 0 ||
		    pthread_create(&thread, NULL, end_first_thread, NULL) != 0)
			_exit(1);
		syscall(SYS_exit, 0);
	}
	for (int i = 0; i < 6000; i++) {
		egs_proc_set_root(NULL);
		egs_proc_stat(pid, &stat);
		egs_proc_set_root(top);
		if (stat.state == 'Z')
			break;
		poll(NULL, 0, 10);
	}
	return pid;
}

/* Directories in each other, until the path has more than 4096 bytes. */
static void open_long_path(void)
{
	char name[251];
	int dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC), next;

	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 20 && dir >= 0; i++) {
		mkdirat(dir, name, 0700);
		next = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(dir);
		dir = next;
	}
	if (dir < 0 || openat(dir, "file", O_CREAT | O_RDWR, 0600) < 0)
		_exit(1);
}

static const struct hider {
	void (*hide)(void);
	int gpu; /* -1: none */
	const char *failure, *title;
} hiders[] = {
	{ open_by_other_name, 1, NULL,
	  "a GPU opened under another name is found" },
	{ map_and_close, 0, NULL, "a GPU that is mapped and closed is found" },
	{ open_in_own_table, 1, NULL,
	  "a GPU in the own file table of a thread is found" },
	{ open_long_path, -1, NULL,
	  "a path of over 4096 bytes does not stop a scan" },
	{ send_to_itself, -1, "files in flight in a socket",
	  "a scan fails if files of the job are in flight in a socket" },
	{ register_and_close, -1, "files registered with io_uring",
	  "a scan fails if files of the job are registered with io_uring" },
	{ make_empty_ring, -1, NULL,
	  "an io_uring without files does not stop a scan" },
};

static bool is_found(const struct hider *hider, pid_t pid)
{
	int rc = scan_job(BOB), gpu = -1;

	if (hider->failure)
		return rc < 0 && strstr(err.msg, hider->failure);
	if (rc < 0)
		note("%s", err.msg);
	for (size_t i = 0; i < users.n; i++)
		if (users.list[i].pid == pid)
			gpu = (int)users.list[i].gpu;
	return rc == 0 && gpu == hider->gpu;
}

static void test_hiders(void)
{
	struct hider headless = { .gpu = 0 };
	pid_t pid;

	for (size_t i = 0; i < ARRAY_SIZE(hiders); i++) {
		pid = start_hider(hiders[i].hide);
		show_only(pid);
		ok(is_found(&hiders[i], pid), "%s", hiders[i].title);
		if (hiders[i].failure)
			ok(scan_job(ALICE) == 0 &&
				   egs_gpu_users_scan(&users, &gpus, 1, 0,
						      &err) == 0,
			   "%s of another user do not stop a scan",
			   hiders[i].failure);
		end_hider(pid);
	}
	pid = start_headless();
	show_only(pid);
	ok(is_found(&headless, pid),
	   "a GPU mapped by a process whose first thread has ended is found");
	end_hider(pid);
}

/* A process of another uid in a user namespace that BOB has made. */
static void test_user_namespace(void)
{
	struct egs_sub_uids of_bob = { .user = BOB },
			    of_alice = { .user = ALICE };
	int made[2];
	pid_t pid;
	char c = 'x';

	if (pipe2(made, O_CLOEXEC) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		if (setuid(BOB) < 0 || unshare(CLONE_NEWUSER) < 0 ||
		    write(made[1], &c, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(made[1]);
	if (read(made[0], &c, 1) != 1) {
		ok(true, "user namespaces do not work here # SKIP");
	} else {
		show_only(pid);
		ok(egs_sub_uids_have(&of_bob, pid, 100007) &&
			   !egs_sub_uids_have(&of_alice, pid, 100007),
		   "a process in a user namespace is of the namespace's user");
	}
	close(made[0]);
	end_hider(pid);
}

/* ---- a GPU that moves ---- */

enum { SCANS = 4 };

static uid_t mover; /* of no user, and of no other run of this test */

static atomic_bool *is_over; /* in memory that all processes share */

/* The file is open in a process that starts the next one and ends. */
static void move_by_fork(void)
{
	if (open("/dev/zero", O_RDONLY | O_CLOEXEC) < 0)
		_exit(1);
	signal(SIGCHLD, SIG_IGN);
	while (!atomic_load(is_over))
		if (fork() > 0)
			_exit(0);
	_exit(0);
}

static void start_mover(void)
{
	atomic_store(is_over, false);
	if (fork() != 0)
		return;
	if (setpgid(0, 0) < 0 || setuid(mover) < 0)
		_exit(1);
	move_by_fork();
}

static int end_if_mover(void *arg, pid_t pid)
{
	uid_t uid;

	if (egs_proc_uid(pid, &uid) == 0 && uid == mover) {
		kill(pid, SIGKILL);
		*(bool *)arg = true;
	}
	return 0;
}

static void end_movers(void)
{
	bool found = true;

	atomic_store(is_over, true);
	while (found) {
		found = false;
		egs_proc_each(end_if_mover, &found, NULL);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
	}
}

/* A scan finds the GPU, or it does not say that no process has it open. */
static bool is_never_missed(void)
{
	for (int i = 0; i < SCANS; i++)
		if (scan_job(mover) == 0 && !users.n) {
			note("scan %d finds nothing", i);
			return false;
		}
	return true;
}

/* Scan until the GPU is found, or until it is free.  Returns whether it is. */
static bool becomes(bool is_open)
{
	for (int i = 0; i < 6000; i++) {
		int rc = scan_job(mover);

		if (is_open ? rc < 0 || users.n : rc == 0 && !users.n)
			return true;
		poll(NULL, 0, 10);
	}
	return false;
}

static void test_movers(void)
{
	is_over = mmap(NULL, sizeof(*is_over), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	egs_proc_set_root(NULL);
	start_mover();
	ok(becomes(true) && is_never_missed(),
	   "a scan does not miss a GPU in processes that start and end");
	end_movers();
	ok(becomes(false), "a GPU that no process has any more is free");
	egs_proc_set_root(top);
}

static void set_gpu(uint32_t i, const char *file)
{
	struct stat is;

	if (stat(file, &is) < 0)
		return;
	gpus.device[i] = is.st_rdev;
	gpus.file_system[i] = is.st_dev;
	gpus.inode[i] = is.st_ino;
	gpus.n = i + 1;
}

/* GPUs 0 and 2 are slices of one GPU. */
static void test_slices(void)
{
	pid_t pid = start_hider(map_and_close);

	set_gpu(2, "/dev/zero");
	gpus.is_slice[0] = gpus.is_slice[2] = true;
	show_only(pid);
	ok(scan_job(BOB) == 0 && users.n == 2 && users.list[0].gpu == 0 &&
		   users.list[1].gpu == 2,
	   "a process of the job may use each slice of a GPU that it maps");
	end_hider(pid);
}

int main(void)
{
	plan_none();
	if (geteuid() != 0) {
		ok(true, "only root can play other users # SKIP");
		return done_testing();
	}
	if (!mkdtemp(top))
		return 1;
	mover = 1000000 + (uid_t)getpid();
	egs_proc_set_root(top);
	set_gpu(0, "/dev/zero");
	set_gpu(1, "/dev/full");
	test_hiders();
	test_user_namespace();
	test_movers();
	test_slices();
	egs_gpu_users_free(&users);
	if (fork() == 0)
		execl("/bin/rm", "rm", "-rf", top, (char *)NULL);
	wait(NULL);
	return done_testing();
}
