/* gpu_movers.c - a GPU that moves while a scan looks is not missed
 *
 * The processes are real.  A directory in place of /proc shows their files,
 * with a FIFO in place of one that the scan reads when it is half way.  A
 * process that feeds the FIFO asks them then to move the GPU to where the scan
 * has looked already.  They do so, unless they are stopped.  /dev/zero is the
 * GPU.
 */
#define _GNU_SOURCE /* pipe2 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/base/array.h"
#include "common/node/gpu_users.h"
#include "common/node/proc.h"
#include "t/lib/unit/pass_file.h"
#include "t/lib/unit/tap.h"

enum {
	MOVE_MS = 500,	  /* in which a process that runs moves the GPU */
	BUDGET_MS = 1000, /* of a scan: no second try for long */
	MOVERS = 2,
};

#define JOB 4000000000U /* no cluster that runs here has such a job */

static char top[] = "/tmp/egs-gpu-movers.XXXXXX";
static struct egs_node_gpus gpus;
static struct egs_gpu_users users;
static struct egs_err err;
static uid_t uid; /* of no user, and of no other run of this test */

/* Two processes, 0 and 1, move the GPU between two places, 0 and 1. */
static struct {
	pid_t mover[MOVERS], feeder[MOVERS];
	int command[MOVERS][2]; /* pipes: a byte asks for a move */
	int done[2];		/* a byte for each move */
	int a[2], b[2];		/* pairs of sockets */
} rig;

static struct shared {
	atomic_int place;   /* where the GPU is */
	atomic_int n_ready; /* processes */
} * shared;

/* ---- the processes that move the GPU ---- */

static void tell_moved(int place)
{
	char c = 'x';

	atomic_store(&shared->place, place);
	if (write(rig.done[1], &c, 1) != 1)
		_exit(1);
}

static bool is_asked(int self)
{
	char c;

	return read(rig.command[self][0], &c, 1) == 1;
}

/* The file is in flight in socket 10 or 12.  File 11 is between them. */
static void move_between_sockets(int self)
{
	if (self == 1)
		return;
	if (dup2(rig.a[1], 10) < 0 ||
	    dup2(open("/etc/passwd", O_RDONLY | O_CLOEXEC), 11) < 0 ||
	    dup2(rig.b[1], 12) < 0)
		_exit(1);
	close(rig.a[1]);
	close(rig.b[1]);
	send_file(rig.b[0], open("/dev/zero", O_RDONLY | O_CLOEXEC));
	atomic_fetch_add(&shared->n_ready, 1);
	while (is_asked(self)) {
		send_file(rig.a[0], receive_file(12));
		tell_moved(0);
	}
}

/* The file is open in one of the processes. */
static void move_between_processes(int self)
{
	int out = self ? rig.b[0] : rig.a[0], in = self ? rig.a[1] : rig.b[1];
	int fd = atomic_load(&shared->place) == self
			 ? open("/dev/zero", O_RDONLY | O_CLOEXEC)
			 : -1;

	atomic_fetch_add(&shared->n_ready, 1);
	while (is_asked(self)) {
		if (fd >= 0) {
			send_file(out, fd);
			fd = -1;
		} else {
			fd = receive_file(in);
			tell_moved(self);
		}
	}
}

/* ---- what the scan sees of them ---- */

__attribute__((format(printf, 2, 3))) static void
format_path(char path[128], const char *fmt, ...)
{
	int n = snprintf(path, 128, "%s/", top);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path + n, (size_t)(128 - n), fmt, ap);
	va_end(ap);
}

static void run_shell(const char *command)
{
	if (system(command) != 0) /* NOLINT */
		note("%s: failed", command);
}

/* Process 1 is not root's, so that nobody asks for its program. */
static void show_nothing(void)
{
	char command[400];

	snprintf(command, sizeof(command),
		 "cd %s && rm -rf [0-9]* && mkdir -p 1/ns && "
		 "ln -s \"$(readlink /proc/self/ns/mnt)\" 1/ns/mnt && "
		 "printf 'Name:\\t1\\nUid:\\t1\\n' >1/status",
		 top);
	run_shell(command);
}

/* Show the files of a process, but a FIFO in place of 'name'. */
static void show_with_fifo(pid_t pid, const char *name)
{
	char command[600], path[128];

	snprintf(command, sizeof(command),
		 "cd %s && mkdir -p %ld/fdinfo && cd %ld && "
		 "for f in stat status cgroup comm cmdline fd maps ns task; do "
		 "ln -s /proc/%ld/$f .; done && for f in $(ls fd/); do "
		 "ln -s /proc/%ld/fdinfo/$f fdinfo; done",
		 top, (long)pid, (long)pid, (long)pid, (long)pid);
	run_shell(command);
	format_path(path, "%ld/%s", (long)pid, name);
	unlink(path);
	if (mkfifo(path, 0600) < 0)
		note("%s: no FIFO", path);
}

/* Ask for a move and wait until it is done, 'wait_ms' at most; -1: no limit. */
static void move_gpu(int wait_ms)
{
	struct pollfd done = { .fd = rig.done[0], .events = POLLIN };
	char c = 'm';

	if (write(rig.command[0][1], &c, 1) != 1 ||
	    write(rig.command[1][1], &c, 1) != 1 ||
	    (poll(&done, 1, wait_ms) == 1 && read(done.fd, &c, 1) != 1))
		note("the GPU cannot move");
}

/* The scan has looked at place 'place': let the GPU move there. */
static void feed_fifo(const char *path, int place)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		_exit(1);
	if (atomic_load(&shared->place) != place)
		move_gpu(MOVE_MS);
	close(fd);
	poll(NULL, 0, 10); /* until the scan has closed it, too */
}

static void start_feeder(int self, const char *name)
{
	char path[128];

	format_path(path, "%ld/%s", (long)rig.mover[self], name);
	rig.feeder[self] = fork();
	while (rig.feeder[self] == 0)
		feed_fifo(path, self);
}

/* ---- the stories ---- */

static const struct story {
	void (*move)(int self);
	const char *fifo; /* of each process, which the scan reads half way */
	int n_movers;
	const char *title;
} stories[] = {
	{ move_between_sockets, "fdinfo/11", 1,
	  "a scan does not miss a GPU that moves between two sockets" },
	{ move_between_processes, "maps", 2,
	  "a scan does not miss a GPU that moves between two processes" },
};

static void start_mover(int self, const struct story *story)
{
	rig.mover[self] = fork();
	if (rig.mover[self] != 0)
		return;
	if (setuid(uid) < 0)
		_exit(1);
	story->move(self);
	for (;;)
		pause();
}

/* A scan examines processes in the order of the directory. */
static bool is_listed_first(pid_t pid)
{
	DIR *dir = opendir(top);
	const struct dirent *entry;
	long first = 0;

	while (dir && first <= 1 && (entry = readdir(dir)))
		first = strtol(entry->d_name, NULL, 10);
	if (dir)
		closedir(dir);
	return first == (long)pid;
}

/* The GPU is at place 1, or where the scan looks last. */
static void start_rig(const struct story *story)
{
	int n = story->n_movers;
	char path[128];

	atomic_store(&shared->place, 1);
	atomic_store(&shared->n_ready, 0);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, rig.a) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, rig.b) < 0 ||
	    pipe2(rig.command[0], O_CLOEXEC) < 0 ||
	    pipe2(rig.command[1], O_CLOEXEC) < 0 ||
	    pipe2(rig.done, O_CLOEXEC) < 0)
		exit(1);
	show_nothing();
	for (int i = 0; i < n; i++)
		start_mover(i, story);
	while (atomic_load(&shared->n_ready) < n)
		poll(NULL, 0, 1);
	for (int i = 0; i < n; i++) {
		format_path(path, "%ld", (long)rig.mover[i]);
		mkdir(path, 0700);
	}
	if (n == MOVERS && is_listed_first(rig.mover[1]))
		move_gpu(-1);
	for (int i = 0; i < n; i++) {
		show_with_fifo(rig.mover[i], story->fifo);
		start_feeder(i, story->fifo);
	}
}

static void end_rig(void)
{
	int *files[] = { rig.a, rig.b, rig.done, rig.command[0],
			 rig.command[1] };

	for (int i = 0; i < MOVERS; i++) {
		pid_t pids[] = { rig.mover[i], rig.feeder[i] };

		for (size_t k = 0; k < ARRAY_SIZE(pids); k++)
			if (pids[k] > 0) {
				kill(pids[k], SIGKILL);
				waitpid(pids[k], NULL, 0);
			}
		rig.mover[i] = rig.feeder[i] = 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		close(files[i][0]);
		close(files[i][1]);
	}
}

/* A scan finds the GPU, or it does not say that no process has it open. */
static bool is_missed(const struct story *story)
{
	int rc;

	start_rig(story);
	egs_gpu_users_free(&users);
	rc = egs_gpu_users_scan_job(&users, &gpus, JOB, uid, BUDGET_MS, &err);
	end_rig();
	return rc == 0 && !users.n;
}

int main(void)
{
	struct stat is;
	char command[80];

	plan_none();
	if (geteuid() != 0) {
		ok(true, "only root can play other users # SKIP");
		return done_testing();
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!mkdtemp(top) || shared == MAP_FAILED || stat("/dev/zero", &is) < 0)
		return 1;
	uid = 1000000 + (uid_t)getpid();
	egs_proc_set_root(top);
	gpus.n = 1;
	gpus.device[0] = is.st_rdev;
	for (size_t i = 0; i < ARRAY_SIZE(stories); i++)
		ok(!is_missed(&stories[i]), "%s", stories[i].title);
	egs_gpu_users_free(&users);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	run_shell(command);
	return done_testing();
}
