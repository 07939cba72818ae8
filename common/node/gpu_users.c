/* gpu_users.c - the processes that have GPUs of this node open
 *
 * A link of /proc/PID/fd is read before it is followed.  Only files in a /dev
 * are examined, because stat() of a file on a dead file server would hang.  In
 * a mount namespace of its own a process may have bound a GPU to any name.
 * There every file is examined, with the attributes that the kernel has at
 * hand.
 */
#define _GNU_SOURCE /* statx */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/node/gpu_users.h"
#include "common/node/proc.h"

enum {
	FIRST_FILES = 256, /* of each process, before the rest of any */
	FILES_PER_CLOCK = 64,
	OPEN_AS_PATH = 010000000, /* O_PATH in /proc/PID/fdinfo */
};

/* A directory of open files that was left after the first FIRST_FILES. */
struct long_table {
	pid_t pid;
	char name[32]; /* "fd", or "task/TID/fd" */
};

struct gpu_search {
	struct egs_gpu_users *users;
	const struct egs_node_gpus *gpus;
	uint64_t wanted;
	uint64_t deadline_ms; /* 0: none */
	char host_mounts[32]; /* mount namespace of process 1 */
	struct long_table *rest;
	size_t nrest, rest_room;
	uint32_t files;
	struct egs_err *err;
};

/* One directory of open files. */
struct fd_table {
	pid_t pid;
	const char *name;
	int fd;
	bool has_own_mounts;
	uint64_t seen; /* GPUs */
};

static bool is_time_over(struct gpu_search *scan)
{
	if (!scan->deadline_ms || scan->users->is_cut ||
	    scan->files++ % FILES_PER_CLOCK)
		return scan->users->is_cut;
	scan->users->is_cut = egs_now_ms() >= scan->deadline_ms;
	return scan->users->is_cut;
}

/* ---- one open file ---- */

/* Seen from a service with mounts of its own, or from outside of a container,
 * the path may have more in front.
 */
static bool is_in_dev(const char *link)
{
	return strstr(link, "/dev/") != NULL;
}

/* Returns 1 with the number of an open device, 0 for anything else, or -1 with
 * 'err' set.  The names of all files of a process can be listed with fewer
 * rights than their links can be read.
 */
static int read_device(const struct fd_table *table, const char *name,
		       dev_t *device, struct egs_err *err)
{
	struct statx is;
	char link[512] = "";

	if (readlinkat(table->fd, name, link, sizeof(link) - 1) < 0) {
		if (errno != ENAMETOOLONG)
			return egs_proc_fail(table->pid, table->name, err);
		link[0] = '/'; /* a user can make such a path */
	}
	if (!is_in_dev(link) && !(table->has_own_mounts && *link == '/'))
		return 0;
	/* A user's own file system may fail as it likes; devices do not. */
	if (statx(table->fd, name, AT_STATX_DONT_SYNC, STATX_TYPE, &is) < 0)
		return 0;
	*device = makedev(is.stx_rdev_major, is.stx_rdev_minor);
	return S_ISCHR(is.stx_mode);
}

static int find_gpu(const struct gpu_search *scan, dev_t device)
{
	const struct egs_node_gpus *gpus = scan->gpus;

	for (uint32_t i = 0; device && i < gpus->n; i++)
		if (gpus->device[i] == device)
			return scan->wanted >> i & 1 ? (int)i : -1;
	return -1;
}

/* With O_PATH anybody may name a device; that does not use it.  Returns 1, 0,
 * or -1 with 'err' set.
 */
static int is_open_for_use(const struct fd_table *table, const char *name,
			   struct egs_err *err)
{
	char path[320], text[512];
	const char *flags;

	snprintf(path, sizeof(path), "%.*sfdinfo/%s",
		 (int)(strlen(table->name) - strlen("fd")), table->name, name);
	if (egs_proc_read(table->pid, path, text, sizeof(text)) < 0)
		return egs_proc_fail(table->pid, path, err);
	flags = strstr(text, "flags:");
	return !flags ||
	       !(strtoul(flags + strlen("flags:"), NULL, 8) & OPEN_AS_PATH);
}

static int examine_file(struct gpu_search *scan, struct fd_table *table,
			const char *name)
{
	dev_t device = 0;
	int rc = read_device(table, name, &device, scan->err), gpu;

	if (rc <= 0)
		return rc;
	gpu = find_gpu(scan, device);
	if (gpu < 0 || table->seen >> gpu & 1)
		return 0;
	rc = is_open_for_use(table, name, scan->err);
	if (rc <= 0)
		return rc;
	table->seen |= UINT64_C(1) << gpu;
	return egs_gpu_users_add(scan->users, table->pid, (uint32_t)gpu,
				 scan->err);
}

/* ---- the open files of a process ---- */

static int postpone_rest(struct gpu_search *scan, const struct fd_table *table)
{
	struct long_table *rest;

	if (egs_grow(&scan->rest, &scan->rest_room, scan->nrest + 1) < 0)
		return egs_errf(scan->err, "out of memory");
	rest = &scan->rest[scan->nrest++];
	rest->pid = table->pid;
	snprintf(rest->name, sizeof(rest->name), "%s", table->name);
	return 0;
}

/* Examine the files from number 'first' on, 'max' at most. */
static int examine_files(struct gpu_search *scan, struct fd_table *table,
			 DIR *dir, size_t first, size_t max)
{
	const struct dirent *entry;
	size_t n = 0;
	int rc = 0;

	while (rc == 0 && !is_time_over(scan) && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]) || n++ < first)
			continue;
		if (n > first + max)
			return postpone_rest(scan, table);
		rc = examine_file(scan, table, entry->d_name);
	}
	return rc;
}

static bool has_own_mounts(const struct gpu_search *scan, pid_t pid)
{
	char link[sizeof(scan->host_mounts)];

	return *scan->host_mounts &&
	       egs_proc_readlink(pid, "ns/mnt", link, sizeof(link)) > 0 &&
	       strcmp(link, scan->host_mounts) != 0;
}

static int scan_table(struct gpu_search *scan, pid_t pid, const char *name,
		      size_t first, size_t max)
{
	struct fd_table table = { .pid = pid, .name = name };
	char path[EGS_PROC_PATH_MAX];
	DIR *dir;
	int rc;

	egs_proc_path(path, pid, name);
	dir = opendir(path);
	if (!dir)
		return egs_proc_fail(pid, name, scan->err);
	table.fd = dirfd(dir);
	table.has_own_mounts = has_own_mounts(scan, pid);
	rc = examine_files(scan, &table, dir, first, max);
	closedir(dir);
	return rc;
}

/* ---- threads ---- */

/* Threads share the files of their process, unless they do not want to. */
static bool has_own_files(pid_t pid, pid_t thread)
{
	return pid != thread &&
	       syscall(SYS_kcmp, pid, thread, KCMP_FILES, 0, 0) != 0;
}

static int scan_threads(struct gpu_search *scan, pid_t pid)
{
	char path[EGS_PROC_PATH_MAX], name[32];
	const struct dirent *entry;
	DIR *tasks;
	int rc = 0;

	egs_proc_path(path, pid, "task");
	tasks = opendir(path);
	if (!tasks)
		return egs_proc_fail(pid, "task", scan->err);
	while (rc == 0 && !is_time_over(scan) && (entry = readdir(tasks))) {
		pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

		if (thread <= 0 || !has_own_files(pid, thread))
			continue;
		snprintf(name, sizeof(name), "task/%ld/fd", (long)thread);
		rc = scan_table(scan, pid, name, 0, FIRST_FILES);
	}
	closedir(tasks);
	return rc;
}

/* The directory of threads has a link for each of them, and two more. */
static bool has_threads(pid_t pid)
{
	char path[EGS_PROC_PATH_MAX];
	struct stat is;

	egs_proc_path(path, pid, "task");
	return stat(path, &is) == 0 && is.st_nlink > 3;
}

/* ---- all processes ---- */

/* Returns 1 when the time is over. */
static int scan_process(void *arg, pid_t pid)
{
	struct gpu_search *scan = arg;
	int rc = 0;

	if (pid != getpid())
		rc = scan_table(scan, pid, "fd", 0, FIRST_FILES);
	if (rc == 0 && pid != getpid() && has_threads(pid))
		rc = scan_threads(scan, pid);
	return rc < 0 ? rc : scan->users->is_cut;
}

static int scan_rest(struct gpu_search *scan)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < scan->nrest; i++)
		if (!is_time_over(scan))
			rc = scan_table(scan, scan->rest[i].pid,
					scan->rest[i].name, FIRST_FILES,
					SIZE_MAX - FIRST_FILES);
	return rc;
}

int egs_gpu_users_scan(struct egs_gpu_users *users,
		       const struct egs_node_gpus *gpus, uint64_t wanted,
		       uint32_t budget_ms, struct egs_err *err)
{
	struct gpu_search scan = {
		.users = users,
		.gpus = gpus,
		.wanted = wanted,
		.deadline_ms = budget_ms ? egs_now_ms() + budget_ms : 0,
		.err = err,
	};
	int rc;

	users->is_cut = false;
	if (egs_proc_readlink(1, "ns/mnt", scan.host_mounts,
			      sizeof(scan.host_mounts)) < 0 &&
	    egs_proc_fail(1, "ns/mnt", err) < 0)
		return -1;
	rc = egs_proc_each(scan_process, &scan, err);
	if (rc == 0)
		rc = scan_rest(&scan);
	free(scan.rest);
	return rc < 0 ? -1 : 0;
}

/* ---- the list ---- */

static bool is_listed(const struct egs_gpu_users *users, pid_t pid,
		      uint32_t gpu)
{
	/* A process is mostly added GPU by GPU, so search from the end. */
	for (size_t i = users->n; i-- > 0;)
		if (users->list[i].pid == pid && users->list[i].gpu == gpu)
			return true;
	return false;
}

/* Any other character could fake a part of the sentence in a log. */
static void clean_command(char *command)
{
	for (; *command; command++)
		if (!isalnum((unsigned char)*command) &&
		    !strchr("._-+:/", *command))
			*command = '?';
}

int egs_gpu_users_add(struct egs_gpu_users *users, pid_t pid, uint32_t gpu,
		      struct egs_err *err)
{
	struct egs_gpu_user user = { .pid = pid, .gpu = gpu };
	struct egs_proc_stat stat;

	if (is_listed(users, pid, gpu))
		return 0;
	if (egs_proc_stat(pid, &stat) < 0)
		return egs_proc_fail(pid, "stat", err);
	if (egs_proc_uid(pid, &user.uid) < 0)
		return egs_proc_fail(pid, "status", err);
	user.start = stat.start;
	egs_proc_read(pid, "comm", user.command, sizeof(user.command));
	user.command[strcspn(user.command, "\n")] = '\0';
	clean_command(user.command);
	if (egs_grow(&users->list, &users->room, users->n + 1) < 0)
		return egs_errf(err, "out of memory");
	users->list[users->n++] = user;
	return 0;
}

int egs_gpu_users_identify(struct egs_gpu_users *users, const char *node,
			   struct egs_err *err)
{
	size_t kept = 0;

	if (!users->n)
		return 0;
	if (egs_stepds_read(&users->stepds, err) < 0)
		return -1;
	for (size_t i = 0; i < users->n; i++) {
		struct egs_gpu_user *user = &users->list[i];
		int rc = egs_stepds_find_step(&users->stepds, user->pid, node,
					      &user->step, err);

		if (rc < 0)
			return -1;
		if (rc == 0)
			users->list[kept++] = *user;
	}
	users->n = kept;
	return 0;
}

void egs_gpu_users_free(struct egs_gpu_users *users)
{
	free(users->list);
	egs_stepds_free(&users->stepds);
	*users = (struct egs_gpu_users){ .n = 0 };
}

bool egs_gpu_user_may_be_of_job(const struct egs_gpu_user *user, uint32_t job,
				uid_t uid)
{
	if (user->step.source == EGS_STEP_RUNNING)
		return user->step.job == job;
	return user->uid && user->uid == uid;
}

struct egs_text egs_gpu_user_text(const struct egs_gpu_user *user)
{
	const struct egs_step *step = &user->step;
	struct egs_text text;

	egs_textf(&text, "pid %ld (%s)", (long)user->pid, user->command);
	if (step->source == EGS_STEP_RUNNING && *step->name)
		egs_text_append(&text, " of step %" PRIu32 ".%s", step->job,
				step->name);
	else if (step->source == EGS_STEP_RUNNING)
		egs_text_append(&text, " of job %" PRIu32, step->job);
	else if (step->source == EGS_STEP_ENDED && step->job)
		egs_text_append(&text, " in the control group of job %" PRIu32,
				step->job);
	else if (step->source == EGS_STEP_ENDED)
		egs_text_append(&text, " of a job that has ended");
	else if (step->source == EGS_STEP_CLAIMED)
		egs_text_append(&text, " of uid %u that claims job %" PRIu32,
				(unsigned)user->uid, step->job);
	else
		egs_text_append(&text, " of no job");
	return text;
}
