/* gpu_locks.c - a locked GPU cannot be opened in the steps that are locked
 *
 * The control groups are real, the slurmstepds are files in a directory in
 * place of /proc.  /dev/zero and /dev/full are the GPUs 0 and 1.  A process in
 * a group tells which of them it can open.
 */
#define _GNU_SOURCE /* unshare */
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/node/device_groups.h"
#include "common/node/gpu_locks.h"
#include "common/node/proc.h"
#include "t/lib/unit/tap.h"

enum { JOB = 12, ZERO = 1, FULL = 2, BOTH = 3 };

static char top[] = "/tmp/egs-gpu-locks.XXXXXX";
static struct egs_node_gpus gpus;
static struct egs_gpu_locks locks = EGS_GPU_LOCKS_NONE;
static struct egs_err err;

/* The slurmstepds of two jobs. */
static struct egs_stepd stepd[] = {
	{ .pid = 10, .job = JOB, .step = "batch" },
	{ .pid = 11, .job = JOB, .step = "0" },
	{ .pid = 12, .job = JOB + 1, .step = "batch" },
};
static const struct egs_stepds stepds = { .list = stepd,
					  .n = ARRAY_SIZE(stepd) };

/* ---- control groups ---- */

static char groups[EGS_DEVICE_GROUP_SIZE - 64]; /* directory of the test */
static char group_name[32];

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		note("%s: not written", path);
	if (fd >= 0)
		close(fd);
}

__attribute__((format(printf, 2, 3))) static const char *
path_in(const char *dir, const char *fmt, ...)
{
	static char path[EGS_DEVICE_GROUP_SIZE];
	char rest[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(rest, sizeof(rest), fmt, ap);
	va_end(ap);
	snprintf(path, sizeof(path), "%s/%s", dir, rest);
	return path;
}

/* The groups of a step, and what /proc says of its slurmstepd. */
static void make_step(const struct egs_stepd *of, const char *hierarchy)
{
	char line[256];

	mkdir(path_in(groups, "job_%u", of->job), 0755);
	mkdir(path_in(groups, "job_%u/step_%s", of->job, of->step), 0755);
	mkdir(path_in(groups, "job_%u/step_%s/user", of->job, of->step), 0755);
	mkdir(path_in(top, "%d", (int)of->pid), 0700);
	snprintf(line, sizeof(line), "7:cpu,memory:/\n%s:/%s/job_%u/step_%s\n",
		 hierarchy, group_name, of->job, of->step);
	unlink(path_in(top, "%d/cgroup", (int)of->pid));
	write_text(path_in(top, "%d/cgroup", (int)of->pid), line);
}

static void remove_groups(void)
{
	char command[EGS_DEVICE_GROUP_SIZE + 64];

	snprintf(command, sizeof(command),
		 "find %s -depth -type d -exec rmdir {} +", groups);
	if (system(command) != 0) /* NOLINT */
		note("%s stays", groups);
}

/* Returns whether the test has groups of this kind. */
static bool make_groups(enum egs_device_groups_kind kind, const char *mount_as,
			const char *hierarchy)
{
	char root[EGS_DEVICE_GROUP_SIZE];
	const char *own = path_in(top, "groups");

	if (egs_device_groups_find_root(kind, root) < 0) {
		mkdir(own, 0700);
		mount("none", own, mount_as, 0,
		      kind == EGS_DEVICE_GROUPS_V1 ? "devices" : NULL);
	}
	if (egs_device_groups_find_root(kind, root) < 0)
		return false;
	snprintf(group_name, sizeof(group_name), "egs-test-%d", (int)getpid());
	snprintf(groups, sizeof(groups), "%.900s/%s", root, group_name);
	if (mkdir(groups, 0755) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(stepd); i++)
		make_step(&stepd[i], hierarchy);
	return true;
}

/* ---- who can open what ---- */

static int try_to_open(void)
{
	static const char *const files[] = { "/dev/zero", "/dev/full" };
	int can = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		int fd = open(files[i], O_RDONLY | O_CLOEXEC);

		can |= fd >= 0 ? 1 << i : 0;
		if (fd >= 0)
			close(fd);
	}
	return can;
}

/* What a process in the groups of this step can open, as bits; -1: unknown. */
static int can_open_in(const struct egs_stepd *of)
{
	const char *procs = path_in(groups, "job_%u/step_%s/user/cgroup.procs",
				    of->job, of->step);
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		write_text(procs, "0");
		_exit(try_to_open());
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static int set_lock(uint64_t locked)
{
	const struct egs_gpu_lock lock = { .job = JOB,
					   .locked = locked,
					   .gpu_set = BOTH };

	return egs_gpu_locks_set(&locks, &gpus, &stepds, &lock, &err);
}

static void check_locks(const char *version)
{
	ok(can_open_in(&stepd[0]) == BOTH,
	   "%s: without a lock a batch step can open the GPUs", version);
	ok(set_lock(ZERO) == 0 && can_open_in(&stepd[0]) == FULL,
	   "%s: a batch step cannot open the locked GPU", version);
	ok(can_open_in(&stepd[1]) == BOTH,
	   "%s: a step with GPUs of its own is not locked", version);
	ok(can_open_in(&stepd[2]) == BOTH, "%s: another job is not locked",
	   version);
	ok(try_to_open() == BOTH, "%s: a process in no step is not locked",
	   version);
	ok(set_lock(FULL) == 0 && can_open_in(&stepd[0]) == ZERO,
	   "%s: another lock takes the place of the first", version);
	ok(set_lock(BOTH) == 0 && can_open_in(&stepd[0]) == 0,
	   "%s: two GPUs are locked", version);
	ok(set_lock(0) == 0 && can_open_in(&stepd[0]) == BOTH,
	   "%s: an unlocked GPU can be opened again", version);
}

static void test_slices(void)
{
	gpus.is_slice[0] = true;
	ok(egs_gpu_locks_open(&locks, &err) == 0 && set_lock(BOTH) == 0 &&
		   can_open_in(&stepd[0]) == ZERO,
	   "v2: a slice of a GPU is not locked");
	egs_gpu_locks_close(&locks);
	gpus.is_slice[0] = false;
}

static void test_v2(void)
{
	if (!make_groups(EGS_DEVICE_GROUPS_V2, "cgroup2", "0:") ||
	    egs_gpu_locks_open(&locks, &err) < 0) {
		ok(true, "v2: no device programs here # SKIP %s", err.msg);
		if (*groups)
			remove_groups();
		return;
	}
	check_locks("v2");
	set_lock(BOTH);
	egs_gpu_locks_forget(&locks, JOB + 1);
	ok(can_open_in(&stepd[0]) == 0,
	   "v2: locks stay when another job is forgotten");
	egs_gpu_locks_forget(&locks, JOB);
	ok(can_open_in(&stepd[0]) == BOTH,
	   "v2: the locks of a forgotten job are removed");
	set_lock(BOTH);
	egs_gpu_locks_close(&locks);
	ok(can_open_in(&stepd[0]) == BOTH,
	   "v2: locks go with the process that has them");
	locks.may_not = true;
	ok(set_lock(ZERO) < 0 && strstr(err.msg, "CAP_BPF"),
	   "v2: a lock fails without the right to lock");
	ok(set_lock(0) == 0, "v2: nothing to lock needs no right");
	locks.may_not = false;
	ok(set_lock(ZERO) == 0 && can_open_in(&stepd[0]) == BOTH,
	   "v2: a kernel without programs locks nothing");
	test_slices();
	remove_groups();
}

static void test_v1(void)
{
	if (!make_groups(EGS_DEVICE_GROUPS_V1, "cgroup", "5:freezer,devices")) {
		ok(true, "v1: no control of devices here # SKIP");
		return;
	}
	check_locks("v1");
	remove_groups();
}

static void test_no_groups(void)
{
	unlink(path_in(top, "10/cgroup"));
	write_text(path_in(top, "10/cgroup"), "0::/system.slice\n");
	ok(set_lock(BOTH) == 0, "a job without control of devices is no error");
	unlink(path_in(top, "10/cgroup"));
	ok(set_lock(BOTH) == 0, "a slurmstepd that has ended is no error");
}

int main(void)
{
	struct stat is;
	char command[128];

	plan_none();
	if (geteuid() != 0) {
		ok(true, "only root can make control groups # SKIP");
		return done_testing();
	}
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		ok(true, "no mounts of our own here # SKIP");
		return done_testing();
	}
	if (!mkdtemp(top))
		return 1;
	egs_proc_set_root(top);
	gpus.n = 2;
	gpus.device[0] = stat("/dev/zero", &is) == 0 ? is.st_rdev : 0;
	gpus.device[1] = stat("/dev/full", &is) == 0 ? is.st_rdev : 0;
	test_v2();
	test_v1();
	test_no_groups();
	snprintf(command, sizeof(command),
		 "umount %s/groups 2>/dev/null; rm -rf --one-file-system %s",
		 top, top);
	if (system(command) != 0) /* NOLINT */
		note("%s stays", top);
	return done_testing();
}
