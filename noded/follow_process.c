/* follow_process.c - run a program under the conditions of another process */
#define _GNU_SOURCE /* setns, sched_setaffinity */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/array.h"
#include "noded/follow_process.h"
#include "noded/job_processes.h"

enum { TEXT_SIZE = 8192, IOPRIO_PROCESS = 1, IOPRIO_NONE = 0 };

/* ---- control groups ---- */

/* A line of /proc/PID/cgroup is NUMBER:CONTROLLERS:PATH.  With cgroup v2 the
 * controllers are empty.  A named hierarchy (name=systemd) has no controllers.
 */
static int join_cgroup(char *line)
{
	char *controllers = strchr(line, ':'), file[PATH_MAX + 64];
	char *path = controllers ? strchr(controllers + 1, ':') : NULL;
	int fd, rc;

	if (!path)
		return -1;
	*path++ = '\0';
	if (strncmp(++controllers, "name=", 5) == 0)
		return 0;
	snprintf(file, sizeof(file), "/sys/fs/cgroup/%s%s%s/cgroup.procs",
		 controllers, *controllers ? "/" : "", path);
	fd = open(file, O_WRONLY | O_CLOEXEC);
	rc = fd >= 0 && write(fd, "0", 1) == 1 ? 0 : -1;
	if (fd >= 0)
		close(fd);
	return rc;
}

static bool has_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	for (; text; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (!strncmp(text, line, len) &&
		    (text[len] == '\n' || !text[len]))
			return true;
	}
	return false;
}

static int join_cgroups(pid_t pid, int proc_fd, struct egs_err *err)
{
	char of_job[TEXT_SIZE], own[TEXT_SIZE], *line, *rest;
	int self = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ssize_t n =
		egs_job_procs_read(proc_fd, "cgroup", of_job, sizeof(of_job));
	int rc = n > 0 && self >= 0 ? 0 : -1;

	(void)pid;
	if (rc == 0)
		egs_job_procs_read(self, "cgroup", own, sizeof(own));
	if (self >= 0)
		close(self);
	for (line = rc == 0 ? strtok_r(of_job, "\n", &rest) : NULL;
	     line && rc == 0; line = strtok_r(NULL, "\n", &rest))
		rc = has_line(own, line) ? 0 : join_cgroup(line);
	return rc < 0 ? egs_errf(err, "cannot join the job's control group")
		      : 0;
}

/* ---- OOM score, priorities, CPUs ---- */

static int read_oom_score(int proc_fd)
{
	char text[32];

	return egs_job_procs_read(proc_fd, "oom_score_adj", text,
				  sizeof(text)) > 0
		       ? (int)strtol(text, NULL, 10)
		       : 0;
}

/* A process that started egs-noded may have had -1000, which makes a process
 * immune.  Only a lower score needs CAP_SYS_RESOURCE.
 */
static int copy_oom_score(pid_t pid, int proc_fd, struct egs_err *err)
{
	int score = read_oom_score(proc_fd), own;
	int self = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = self < 0 ? -1
			  : openat(self, "oom_score_adj", O_RDWR | O_CLOEXEC);
	bool done;

	(void)pid;
	score = score <= -1000 ? 0 : score;
	done = fd >= 0 && dprintf(fd, "%d", score) > 0;
	own = self < 0 ? INT_MIN : read_oom_score(self);
	if (fd >= 0)
		close(fd);
	if (self >= 0)
		close(self);
	return done || own >= score
		       ? 0
		       : egs_errf(err, "cannot set the job's OOM score %d",
				  score);
}

/* Only a lower value needs CAP_SYS_NICE. */
static int copy_nice_value(pid_t pid, int proc_fd, struct egs_err *err)
{
	int nice_value;

	(void)proc_fd;
	errno = 0;
	nice_value = getpriority(PRIO_PROCESS, (id_t)pid);
	if (errno == 0 && (setpriority(PRIO_PROCESS, 0, nice_value) == 0 ||
			   getpriority(PRIO_PROCESS, 0) >= nice_value))
		return 0;
	return egs_errf(err, "cannot set the job's nice value");
}

/* Without a priority of its own, a process has one that follows from its nice
 * value.
 */
static int copy_io_priority(pid_t pid, int proc_fd, struct egs_err *err)
{
	long priority = syscall(SYS_ioprio_get, IOPRIO_PROCESS, pid);

	(void)proc_fd;
	if (priority >= 0 &&
	    (syscall(SYS_ioprio_set, IOPRIO_PROCESS, 0, priority) == 0 ||
	     syscall(SYS_ioprio_set, IOPRIO_PROCESS, 0, IOPRIO_NONE) == 0))
		return 0;
	return egs_errf(err, "cannot set the job's I/O priority");
}

static int copy_cpus(pid_t pid, int proc_fd, struct egs_err *err)
{
	cpu_set_t cpus[8]; /* 8192 CPUs */

	(void)proc_fd;
	if (sched_getaffinity(pid, sizeof(cpus), cpus) == 0 &&
	    sched_setaffinity(0, sizeof(cpus), cpus) == 0)
		return 0;
	return egs_errf(err, "cannot use the job's CPUs: %s", strerror(errno));
}

/* ---- resource limits ---- */

/* The names in /proc/PID/limits.  prlimit() of another user's process would
 * need CAP_SYS_RESOURCE.
 */
static const struct limit_name {
	const char *name;
	int resource;
} limit_names[] = {
	{ "Max cpu time", RLIMIT_CPU },
	{ "Max file size", RLIMIT_FSIZE },
	{ "Max data size", RLIMIT_DATA },
	{ "Max stack size", RLIMIT_STACK },
	{ "Max core file size", RLIMIT_CORE },
	{ "Max resident set", RLIMIT_RSS },
	{ "Max processes", RLIMIT_NPROC },
	{ "Max open files", RLIMIT_NOFILE },
	{ "Max locked memory", RLIMIT_MEMLOCK },
	{ "Max address space", RLIMIT_AS },
	{ "Max file locks", RLIMIT_LOCKS },
	{ "Max pending signals", RLIMIT_SIGPENDING },
	{ "Max msgqueue size", RLIMIT_MSGQUEUE },
	{ "Max nice priority", RLIMIT_NICE },
	{ "Max realtime priority", RLIMIT_RTPRIO },
	{ "Max realtime timeout", RLIMIT_RTTIME },
};

static rlim_t parse_limit(const char *text)
{
	return strcmp(text, "unlimited") == 0
		       ? RLIM_INFINITY
		       : (rlim_t)strtoull(text, NULL, 10);
}

static rlim_t min_limit(rlim_t a, rlim_t b)
{
	return a < b ? a : b; /* RLIM_INFINITY is the largest number */
}

/* Only a higher hard limit needs CAP_SYS_RESOURCE. */
static int set_limit(int resource, const struct rlimit *limit)
{
	struct rlimit own;

	if (setrlimit(resource, limit) == 0)
		return 0;
	if (getrlimit(resource, &own) < 0)
		return -1;
	own.rlim_max = min_limit(own.rlim_max, limit->rlim_max);
	own.rlim_cur = min_limit(own.rlim_max, limit->rlim_cur);
	return setrlimit(resource, &own);
}

static int copy_limit(const char *text, const struct limit_name *entry)
{
	const char *line = strstr(text, entry->name);
	char soft[24], hard[24];
	struct rlimit limit;

	if (!line ||
	    sscanf(line + strlen(entry->name), "%23s %23s", soft, hard) != 2)
		return -1;
	limit.rlim_cur = parse_limit(soft);
	limit.rlim_max = parse_limit(hard);
	return set_limit(entry->resource, &limit);
}

static int copy_limits(pid_t pid, int proc_fd, struct egs_err *err)
{
	char text[TEXT_SIZE];

	(void)pid;
	egs_job_procs_read(proc_fd, "limits", text, sizeof(text));
	for (size_t i = 0; i < ARRAY_SIZE(limit_names); i++)
		if (copy_limit(text, &limit_names[i]) < 0)
			return egs_errf(err, "cannot set the job's limit '%s'",
					limit_names[i].name);
	return 0;
}

/* ---- files ---- */

static bool is_in_our_mount_namespace(int proc_fd)
{
	char its[64] = "", ours[64] = "";

	return readlinkat(proc_fd, "ns/mnt", its, sizeof(its) - 1) > 0 &&
	       readlink("/proc/self/ns/mnt", ours, sizeof(ours) - 1) > 0 &&
	       strcmp(its, ours) == 0;
}

/* Does a namespace belong to our user namespace?  A user can make a mount
 * namespace in a user namespace of his own, at any time: so the file that
 * setns() takes is checked, and not the process.
 */
static bool is_of_our_user_namespace(int ns)
{
	int owner = ioctl(ns, NS_GET_USERNS);
	struct stat its, ours;
	bool same = owner >= 0 && fstat(owner, &its) == 0 &&
		    stat("/proc/self/ns/user", &ours) == 0 &&
		    its.st_dev == ours.st_dev && its.st_ino == ours.st_ino;

	if (owner >= 0)
		close(owner);
	return same;
}

/* What the program finds there may be of the user's making: no program gets
 * more rights by its setuid bit.
 */
static int enter_mount_namespace(int ns, struct egs_err *err)
{
	if (!is_of_our_user_namespace(ns))
		return egs_errf(err, "the job's mount namespace is of a user "
				     "namespace of its own");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return egs_errf(err, "no_new_privs: %s", strerror(errno));
	return setns(ns, CLONE_NEWNS) < 0 ? 1 : 0;
}

/* setns() needs CAP_SYS_ADMIN.  Without it, the root directory of the process
 * shows the same files, and programs with a setuid bit do not get their user.
 */
static int enter_mounts(pid_t pid, int proc_fd, struct egs_err *err)
{
	int ns, rc;

	(void)pid;
	if (is_in_our_mount_namespace(proc_fd))
		return 0;
	ns = openat(proc_fd, "ns/mnt", O_RDONLY | O_CLOEXEC);
	rc = ns < 0 ? 1 : enter_mount_namespace(ns, err);
	if (ns >= 0)
		close(ns);
	if (rc <= 0)
		return rc;
	if (fchdir(proc_fd) == 0 && chroot("root") == 0)
		rc = chdir("/");
	return rc != 0 ? egs_errf(err,
				  "cannot enter the job's mount namespace: "
				  "%s",
				  strerror(errno))
		       : 0;
}

/* The CPUs come after the control group, which may allow only some.  The limits
 * come last: with few open files the calls before them would fail.
 */
int egs_follow_process(pid_t pid, int proc_fd, struct egs_err *err)
{
	static int (*const steps[])(pid_t pid, int proc_fd,
				    struct egs_err *err) = {
		join_cgroups, copy_oom_score, copy_nice_value, copy_io_priority,
		copy_cpus,    enter_mounts,   copy_limits,
	};

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (steps[i](pid, proc_fd, err) < 0)
			return -1;
	return 0;
}
