/* gpu_search.c - find the GPUs that a process has open or mapped
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
#include "common/node/gpu_search.h"
#include "common/node/proc.h"

enum {
	FIRST_FILES = 256, /* of each process, before more of any */
	MORE_FILES = 16384,
};

/* What is left of a process after its first files: a directory of open files
 * from number 'first' on, or the directory of its threads.
 */
struct egs_gpu_search_rest {
	pid_t pid;
	char name[32]; /* "fd", "task/TID/fd" or "task" */
	size_t first;
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
bool egs_gpu_search_is_late(struct egs_gpu_search *search)
{
	if (search->deadline_ms && egs_now_ms() >= search->deadline_ms)
		search->users->is_cut = true;
	return search->users->is_cut;
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
static bool is_examined(const struct egs_gpu_search *search, uint32_t gpu)
{
	return search->wanted >> gpu & 1 &&
	       (search->users->job || !search->gpus->is_slice[gpu]);
}

static bool may_have_other_name(const struct egs_gpu_search *search, pid_t pid,
				ino_t inode)
{
	if (!inode)
		return has_own_mounts(pid);
	for (uint32_t i = 0; i < search->gpus->n; i++)
		if (search->gpus->inode[i] == inode && is_examined(search, i))
			return true;
	return false;
}

static uint64_t find_gpus(const struct egs_gpu_search *search, dev_t device)
{
	const struct egs_node_gpus *gpus = search->gpus;
	uint64_t found = 0;

	for (uint32_t i = 0; device && i < gpus->n; i++)
		if (gpus->device[i] == device && is_examined(search, i))
			found |= UINT64_C(1) << i;
	return found;
}

/* A user's own file system may fail as it likes; devices do not.  Returns GPUs
 * as bits.
 */
static uint64_t examine_device(const struct egs_gpu_search *search,
			       const struct fd_table *table, const char *name)
{
	struct statx is;

	if (statx(table->fd, name, AT_STATX_DONT_SYNC, STATX_TYPE, &is) < 0 ||
	    !S_ISCHR(is.stx_mode))
		return 0;
	return find_gpus(search, makedev(is.stx_rdev_major, is.stx_rdev_minor));
}

static int add_gpus(struct egs_gpu_search *search, pid_t pid, uint64_t gpus)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < search->gpus->n; i++)
		if (gpus >> i & 1)
			rc = egs_gpu_users_add(search->users, pid, i,
					       search->err);
	return rc;
}

static int check_hidden_files(struct egs_gpu_search *search,
			      const struct fd_table *table, const char *name,
			      const char *link)
{
	char command[32];
	const char *what;
	int rc = egs_fdinfo_holds_files(table->pid, table->name, name, link,
					&what);

	if (rc <= 0)
		return rc < 0 ? egs_proc_fail(table->pid, table->name,
					      search->err)
			      : 0;
	search->is_hidden = true;
	egs_proc_command(table->pid, command, sizeof(command));
	return egs_errf(search->err, "pid %ld (%s) has %s, which may be GPUs",
			(long)table->pid, command, what);
}

/* The names of all files of a process can be listed with fewer rights than
 * their links can be read.
 */
static int examine_file(struct egs_gpu_search *search, struct fd_table *table,
			const char *name)
{
	struct egs_fdinfo info;
	char link[512] = "";
	uint64_t gpus;

	if (readlinkat(table->fd, name, link, sizeof(link) - 1) < 0) {
		if (errno != ENAMETOOLONG)
			return egs_proc_fail(table->pid, table->name,
					     search->err);
		link[0] = '/'; /* a user can make such a path */
	}
	if (*link != '/')
		return search->users->job
			       ? check_hidden_files(search, table, name, link)
			       : 0;
	if (table->is_roots && !is_in_dev(link))
		return 0;
	if (egs_fdinfo_read(table->pid, table->name, name, &info) < 0)
		return egs_proc_fail(table->pid, "fdinfo", search->err);
	if (info.is_path ||
	    (!is_in_dev(link) &&
	     !may_have_other_name(search, table->pid, info.inode)))
		return 0;
	gpus = examine_device(search, table, name) & ~table->seen;
	table->seen |= gpus;
	return add_gpus(search, table->pid, gpus);
}

/* ---- the open files of a process ---- */

static int postpone_rest(struct egs_gpu_search *search, pid_t pid,
			 const char *name, size_t first)
{
	struct egs_gpu_search_rest *rest;

	if (egs_grow(&search->rest, &search->rest_room, search->nrest + 1) < 0)
		return egs_errf(search->err, "out of memory");
	rest = &search->rest[search->nrest++];
	rest->pid = pid;
	rest->first = first;
	snprintf(rest->name, sizeof(rest->name), "%s", name);
	return 0;
}

static bool has_all_gpus(const struct egs_gpu_search *search,
			 const struct fd_table *table)
{
	for (uint32_t i = 0; i < search->gpus->n; i++)
		if (is_examined(search, i) && search->gpus->device[i] &&
		    !(table->seen >> i & 1))
			return false;
	return true;
}

/* Examine the files from number 'first' on, 'max' at most. */
static int examine_files(struct egs_gpu_search *search, struct fd_table *table,
			 DIR *dir, size_t first, size_t max)
{
	const struct dirent *entry;
	size_t n = 0;
	int rc = 0;

	while (rc == 0 && !egs_gpu_search_is_late(search) &&
	       (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]) || n++ < first)
			continue;
		if (n > first + max)
			return postpone_rest(search, table->pid, table->name,
					     first + max);
		rc = examine_file(search, table, entry->d_name);
		if (has_all_gpus(search, table))
			break;
	}
	return rc;
}

static int scan_table(struct egs_gpu_search *search, pid_t pid,
		      const char *name, size_t first, size_t max)
{
	struct fd_table table = { .pid = pid, .name = name };
	char path[EGS_PROC_PATH_MAX];
	uid_t uid;
	DIR *dir;
	int rc;

	if (egs_proc_uid(pid, &uid) < 0)
		return egs_proc_fail(pid, "status", search->err);
	egs_proc_path(path, pid, name);
	dir = opendir(path);
	if (!dir)
		return egs_proc_fail(pid, name, search->err);
	table.fd = dirfd(dir);
	table.is_roots = uid == 0 && !search->users->job;
	rc = examine_files(search, &table, dir, first, max);
	closedir(dir);
	return rc;
}

/* ---- mappings ---- */

/* "7f71b1d5e000-7f71b1d5f000 r--p 00000000 00:06 4     /dev/nvidia0".  The
 * device is that of the file system.
 */
static uint64_t find_mapped_gpus(const struct egs_gpu_search *search,
				 const char *line)
{
	const struct egs_node_gpus *gpus = search->gpus;
	unsigned int major, minor;
	unsigned long inode;
	uint64_t found = 0;

	if (sscanf(line, "%*s %*s %*s %x:%x %lu", &major, &minor, &inode) != 3)
		return 0;
	for (uint32_t i = 0; inode && i < gpus->n; i++)
		if (gpus->inode[i] == inode && is_examined(search, i) &&
		    gpus->file_system[i] == makedev(major, minor))
			found |= UINT64_C(1) << i;
	return found;
}

/* A device stays in use while it is mapped, also when its file is closed. */
static int scan_mappings(struct egs_gpu_search *search, pid_t pid,
			 const char *name)
{
	char path[EGS_PROC_PATH_MAX], *line = NULL;
	size_t room = 0;
	int rc = 0;
	FILE *f;

	egs_proc_path(path, pid, name);
	f = fopen(path, "re");
	if (!f)
		return egs_proc_fail(pid, name, search->err);
	while (rc == 0 && !egs_gpu_search_is_late(search) &&
	       getline(&line, &room, f) > 0)
		rc = add_gpus(search, pid, find_mapped_gpus(search, line));
	if (rc == 0 && ferror(f))
		rc = egs_proc_fail(pid, name, search->err);
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

static int scan_thread(struct egs_gpu_search *search, pid_t pid, pid_t thread)
{
	char name[32];
	int rc = 0;

	if (has_own(pid, thread, KCMP_FILES)) {
		snprintf(name, sizeof(name), "task/%ld/fd", (long)thread);
		rc = postpone_rest(search, pid, name, 0);
	}
	if (rc == 0 && search->users->job && has_own(pid, thread, KCMP_VM)) {
		snprintf(name, sizeof(name), "task/%ld/maps", (long)thread);
		rc = scan_mappings(search, pid, name);
	}
	return rc;
}

static int scan_threads(struct egs_gpu_search *search, pid_t pid)
{
	char path[EGS_PROC_PATH_MAX];
	const struct dirent *entry;
	DIR *tasks;
	int rc = 0;

	egs_proc_path(path, pid, "task");
	tasks = opendir(path);
	if (!tasks)
		return egs_proc_fail(pid, "task", search->err);
	while (rc == 0 && !egs_gpu_search_is_late(search) &&
	       (entry = readdir(tasks))) {
		pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

		if (thread > 0)
			rc = scan_thread(search, pid, thread);
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

/* ---- all of it ---- */

int egs_gpu_search_process(struct egs_gpu_search *search, pid_t pid)
{
	int rc = scan_table(search, pid, "fd", 0, FIRST_FILES);

	if (rc == 0 && has_threads(pid))
		rc = postpone_rest(search, pid, "task", 0);
	if (rc == 0 && search->users->job)
		rc = scan_mappings(search, pid, "maps");
	return rc < 0 ? rc : search->users->is_cut;
}

/* The list grows meanwhile. */
int egs_gpu_search_rests(struct egs_gpu_search *search)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < search->nrest; i++) {
		struct egs_gpu_search_rest rest = search->rest[i];

		if (egs_gpu_search_is_late(search))
			break;
		rc = strcmp(rest.name, "task") == 0
			     ? scan_threads(search, rest.pid)
			     : scan_table(
				       search, rest.pid, rest.name, rest.first,
				       rest.first ? MORE_FILES : FIRST_FILES);
	}
	return rc;
}

void egs_gpu_search_free(struct egs_gpu_search *search)
{
	free(search->rest);
	search->rest = NULL;
	search->nrest = search->rest_room = 0;
}
