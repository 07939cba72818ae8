/* gpu_users_scan.c - find the processes that have GPUs of this node open
 *
 * A file is a GPU by its device number, whatever its name.  But stat() of a
 * file on a dead file server would hang.  So only files in a /dev are examined,
 * and files with the inode number of a GPU's file: in a mount namespace of its
 * own, a user can bind that file to any name.  The kernel tells link and inode
 * number without asking a file system.
 */
#define _GNU_SOURCE /* statx */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/node/fdinfo.h"
#include "common/node/gpu_users.h"
#include "common/node/proc.h"

enum {
	FIRST_FILES = 256, /* of each process, before more of any */
	MORE_FILES = 16384,
	SETTLE_MS = 20,	   /* for files that are just being sent */
	SETTLE_TRIES = 15, /* of a scan */
};

/* What is left of a process after its first files: a directory of open files
 * from number 'first' on, or the directory of its threads.
 */
struct scan_rest {
	pid_t pid;
	char name[32]; /* "fd", "task/TID/fd" or "task" */
	size_t first;
};

struct gpu_search {
	struct egs_gpu_users *users;
	const struct egs_node_gpus *gpus;
	uint64_t wanted;
	uint64_t deadline_ms; /* 0: none */
	struct scan_rest *rest;
	size_t nrest, rest_room;
	unsigned tries; /* of SETTLE_TRIES */
	struct egs_err *err;
};

/* One directory of open files. */
struct fd_table {
	pid_t pid;
	const char *name;
	int fd;
	bool is_roots; /* root hides nothing */
	uint64_t seen; /* GPUs */
};

/* A user can make one file slow, for example with thousands of locks. */
static bool is_time_over(struct gpu_search *scan)
{
	if (scan->deadline_ms && egs_now_ms() >= scan->deadline_ms)
		scan->users->is_cut = true;
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

/* Before Linux 5.14: all files of a process in a mount namespace of its own. */
static bool has_own_mounts(pid_t pid)
{
	char host[32], its[32];

	return egs_proc_readlink(1, "ns/mnt", host, sizeof(host)) > 0 &&
	       egs_proc_readlink(pid, "ns/mnt", its, sizeof(its)) > 0 &&
	       strcmp(host, its) != 0;
}

/* Jobs share the file of a MIG GPU, and nobody sees by it which slice is in
 * use.  So a scan for one job takes all slices for used, and another scan takes
 * none.
 */
static bool is_examined(const struct gpu_search *scan, uint32_t gpu)
{
	return scan->wanted >> gpu & 1 &&
	       (scan->users->job || !scan->gpus->is_slice[gpu]);
}

static bool may_have_other_name(const struct gpu_search *scan, pid_t pid,
				ino_t inode)
{
	if (!inode)
		return has_own_mounts(pid);
	for (uint32_t i = 0; i < scan->gpus->n; i++)
		if (scan->gpus->inode[i] == inode && is_examined(scan, i))
			return true;
	return false;
}

static uint64_t find_gpus(const struct gpu_search *scan, dev_t device)
{
	const struct egs_node_gpus *gpus = scan->gpus;
	uint64_t found = 0;

	for (uint32_t i = 0; device && i < gpus->n; i++)
		if (gpus->device[i] == device && is_examined(scan, i))
			found |= UINT64_C(1) << i;
	return found;
}

/* A user's own file system may fail as it likes; devices do not.  Returns GPUs
 * as bits.
 */
static uint64_t examine_device(const struct gpu_search *scan,
			       const struct fd_table *table, const char *name)
{
	struct statx is;

	if (statx(table->fd, name, AT_STATX_DONT_SYNC, STATX_TYPE, &is) < 0 ||
	    !S_ISCHR(is.stx_mode))
		return 0;
	return find_gpus(scan, makedev(is.stx_rdev_major, is.stx_rdev_minor));
}

static int add_gpus(struct gpu_search *scan, pid_t pid, uint64_t gpus)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < scan->gpus->n; i++)
		if (gpus >> i & 1)
			rc = egs_gpu_users_add(scan->users, pid, i, scan->err);
	return rc;
}

/* Programs send files to each other.  They are in flight for a moment, those
 * that somebody hides for longer.
 */
static int check_hidden_files(struct gpu_search *scan,
			      const struct fd_table *table, const char *name,
			      const char *link)
{
	char command[32];
	const char *what;
	int rc;

	while ((rc = egs_fdinfo_holds_files(table->pid, table->name, name, link,
					    &what)) > 0 &&
	       scan->tries++ < SETTLE_TRIES)
		poll(NULL, 0, SETTLE_MS);
	if (rc <= 0)
		return rc < 0 ? egs_proc_fail(table->pid, table->name,
					      scan->err)
			      : 0;
	egs_proc_command(table->pid, command, sizeof(command));
	return egs_errf(scan->err, "pid %ld (%s) has %s, which may be GPUs",
			(long)table->pid, command, what);
}

/* The names of all files of a process can be listed with fewer rights than
 * their links can be read.
 */
static int examine_file(struct gpu_search *scan, struct fd_table *table,
			const char *name)
{
	struct egs_fdinfo info;
	char link[512] = "";
	uint64_t gpus;

	if (readlinkat(table->fd, name, link, sizeof(link) - 1) < 0) {
		if (errno != ENAMETOOLONG)
			return egs_proc_fail(table->pid, table->name,
					     scan->err);
		link[0] = '/'; /* a user can make such a path */
	}
	if (*link != '/')
		return scan->users->job
			       ? check_hidden_files(scan, table, name, link)
			       : 0;
	if (table->is_roots && !is_in_dev(link))
		return 0;
	if (egs_fdinfo_read(table->pid, table->name, name, &info) < 0)
		return egs_proc_fail(table->pid, "fdinfo", scan->err);
	if (info.is_path ||
	    (!is_in_dev(link) &&
	     !may_have_other_name(scan, table->pid, info.inode)))
		return 0;
	gpus = examine_device(scan, table, name) & ~table->seen;
	table->seen |= gpus;
	return add_gpus(scan, table->pid, gpus);
}

/* ---- the open files of a process ---- */

static int postpone_rest(struct gpu_search *scan, pid_t pid, const char *name,
			 size_t first)
{
	struct scan_rest *rest;

	if (egs_grow(&scan->rest, &scan->rest_room, scan->nrest + 1) < 0)
		return egs_errf(scan->err, "out of memory");
	rest = &scan->rest[scan->nrest++];
	rest->pid = pid;
	rest->first = first;
	snprintf(rest->name, sizeof(rest->name), "%s", name);
	return 0;
}

static bool has_all_gpus(const struct gpu_search *scan,
			 const struct fd_table *table)
{
	for (uint32_t i = 0; i < scan->gpus->n; i++)
		if (is_examined(scan, i) && scan->gpus->device[i] &&
		    !(table->seen >> i & 1))
			return false;
	return true;
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
			return postpone_rest(scan, table->pid, table->name,
					     first + max);
		rc = examine_file(scan, table, entry->d_name);
		if (has_all_gpus(scan, table))
			break;
	}
	return rc;
}

static int scan_table(struct gpu_search *scan, pid_t pid, const char *name,
		      size_t first, size_t max)
{
	struct fd_table table = { .pid = pid, .name = name };
	char path[EGS_PROC_PATH_MAX];
	uid_t uid;
	DIR *dir;
	int rc;

	if (egs_proc_uid(pid, &uid) < 0)
		return egs_proc_fail(pid, "status", scan->err);
	egs_proc_path(path, pid, name);
	dir = opendir(path);
	if (!dir)
		return egs_proc_fail(pid, name, scan->err);
	table.fd = dirfd(dir);
	table.is_roots = uid == 0 && !scan->users->job;
	rc = examine_files(scan, &table, dir, first, max);
	closedir(dir);
	return rc;
}

/* ---- mappings ---- */

/* "7f71b1d5e000-7f71b1d5f000 r--p 00000000 00:06 4     /dev/nvidia0".  The
 * device is that of the file system.
 */
static uint64_t find_mapped_gpus(const struct gpu_search *scan,
				 const char *line)
{
	const struct egs_node_gpus *gpus = scan->gpus;
	unsigned int major, minor;
	unsigned long inode;
	uint64_t found = 0;

	if (sscanf(line, "%*s %*s %*s %x:%x %lu", &major, &minor, &inode) != 3)
		return 0;
	for (uint32_t i = 0; inode && i < gpus->n; i++)
		if (gpus->inode[i] == inode && is_examined(scan, i) &&
		    gpus->file_system[i] == makedev(major, minor))
			found |= UINT64_C(1) << i;
	return found;
}

/* A device stays in use while it is mapped, also when its file is closed. */
static int scan_mappings(struct gpu_search *scan, pid_t pid, const char *name)
{
	char path[EGS_PROC_PATH_MAX], *line = NULL;
	size_t room = 0;
	int rc = 0;
	FILE *f;

	egs_proc_path(path, pid, name);
	f = fopen(path, "re");
	if (!f)
		return egs_proc_fail(pid, name, scan->err);
	while (rc == 0 && !is_time_over(scan) && getline(&line, &room, f) > 0)
		rc = add_gpus(scan, pid, find_mapped_gpus(scan, line));
	if (rc == 0 && ferror(f))
		rc = egs_proc_fail(pid, name, scan->err);
	free(line);
	fclose(f);
	return rc;
}

/* ---- threads ---- */

/* Threads share the files of their process, unless they do not want to, or the
 * first thread has ended.  Only then they do not share the first one's memory.
 */
static bool has_own(pid_t pid, pid_t thread, int what)
{
	return pid != thread && syscall(SYS_kcmp, pid, thread, what, 0, 0) != 0;
}

static int scan_thread(struct gpu_search *scan, pid_t pid, pid_t thread)
{
	char name[32];
	int rc = 0;

	if (has_own(pid, thread, KCMP_FILES)) {
		snprintf(name, sizeof(name), "task/%ld/fd", (long)thread);
		rc = postpone_rest(scan, pid, name, 0);
	}
	if (rc == 0 && scan->users->job && has_own(pid, thread, KCMP_VM)) {
		snprintf(name, sizeof(name), "task/%ld/maps", (long)thread);
		rc = scan_mappings(scan, pid, name);
	}
	return rc;
}

static int scan_threads(struct gpu_search *scan, pid_t pid)
{
	char path[EGS_PROC_PATH_MAX];
	const struct dirent *entry;
	DIR *tasks;
	int rc = 0;

	egs_proc_path(path, pid, "task");
	tasks = opendir(path);
	if (!tasks)
		return egs_proc_fail(pid, "task", scan->err);
	while (rc == 0 && !is_time_over(scan) && (entry = readdir(tasks))) {
		pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

		if (thread > 0)
			rc = scan_thread(scan, pid, thread);
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

/* Returns 1 if the process may be of the job, 0, or -1 with 'err' set. */
static int may_be_of_job(const struct gpu_search *scan, pid_t pid)
{
	struct egs_gpu_user user = { .pid = pid };
	int rc;

	if (egs_proc_uid(pid, &user.uid) < 0)
		return egs_proc_fail(pid, "status", scan->err);
	rc = egs_stepds_find_step(&scan->users->stepds, pid, &user.step,
				  scan->err);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	return egs_gpu_users_may_be_of_job(scan->users, &user);
}

/* Returns 1 when the time is over. */
static int scan_process(void *arg, pid_t pid)
{
	struct gpu_search *scan = arg;
	bool for_job = scan->users->job != 0;
	int rc = pid == getpid() ? 0 : for_job ? may_be_of_job(scan, pid) : 1;

	if (rc <= 0)
		return rc;
	rc = scan_table(scan, pid, "fd", 0, FIRST_FILES);
	if (rc == 0 && has_threads(pid))
		rc = postpone_rest(scan, pid, "task", 0);
	if (rc == 0 && for_job)
		rc = scan_mappings(scan, pid, "maps");
	return rc < 0 ? rc : scan->users->is_cut;
}

/* The list grows meanwhile. */
static int scan_rests(struct gpu_search *scan)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < scan->nrest; i++) {
		struct scan_rest rest = scan->rest[i];

		if (is_time_over(scan))
			break;
		rc = strcmp(rest.name, "task") == 0
			     ? scan_threads(scan, rest.pid)
			     : scan_table(scan, rest.pid, rest.name, rest.first,
					  rest.first ? MORE_FILES
						     : FIRST_FILES);
	}
	return rc;
}

static int scan_processes(struct gpu_search *scan)
{
	int rc;

	scan->users->is_cut = false;
	rc = egs_proc_each(scan_process, scan, scan->err);
	if (rc == 0)
		rc = scan_rests(scan);
	free(scan->rest);
	return rc < 0 ? -1 : 0;
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

	users->job = 0;
	return scan_processes(&scan);
}

int egs_gpu_users_scan_job(struct egs_gpu_users *users,
			   const struct egs_node_gpus *gpus, uint32_t job,
			   uid_t uid, uint32_t budget_ms, struct egs_err *err)
{
	struct gpu_search scan = {
		.users = users,
		.gpus = gpus,
		.wanted = EGS_GPUS_ALL,
		.deadline_ms = budget_ms ? egs_now_ms() + budget_ms : 0,
		.err = err,
	};

	users->job = job;
	egs_sub_uids_read(&users->sub_uids, NULL, uid);
	if (egs_stepds_read(&users->stepds, err) < 0 ||
	    scan_processes(&scan) < 0)
		return -1;
	if (users->is_cut)
		return egs_errf(err,
				"the files of job %" PRIu32 " and its user are "
				"too many to examine in %u ms",
				job, (unsigned)budget_ms);
	return 0;
}
