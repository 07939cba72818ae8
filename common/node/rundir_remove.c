/* rundir_remove.c - remove a run directory, whatever its owner left there
 *
 * A directory inside is moved to the top and emptied there.  So a tree of any
 * depth needs no recursion.  Processes of the owner may still be at work
 * inside, so root itself changes nothing there.
 */
#define _GNU_SOURCE /* O_PATH */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/node/rundir.h"
#include "common/node/save_program.h"

enum {
	OPEN_DIR = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
	/* A process may keep adding files.  The next call continues. */
	REMOVAL_MS = 500,
	/* At this age an unfinished directory counts as abandoned. */
	ABANDONED_S = 300,
	RETIRED_AT_ONCE_MAX = 256,
};

struct removal {
	int top;
	unsigned moved; /* directories moved so far */
	bool more_dirs; /* the top has directories to empty */
};

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Remove the entry 'name' of 'at'.  A directory that is not empty is moved to
 * the top.
 */
static void remove_entry(struct removal *r, int at, const char *name);

/* Remove a file or an empty directory, and what the user has mounted there.
 * Returns whether it is gone.
 */
static bool remove_simple(int at, const char *name)
{
	if (unlinkat(at, name, 0) == 0 || unlinkat(at, name, AT_REMOVEDIR) == 0)
		return true;
	if (errno != EBUSY)
		return false;
	while (egs_rundir_unmount_at(at, name) == 0)
		;
	return unlinkat(at, name, 0) == 0 ||
	       unlinkat(at, name, AT_REMOVEDIR) == 0;
}

/* Open the directory 'name' of 'at' with all permissions, unless something is
 * mounted there.
 */
static DIR *open_dir(int at, const char *name)
{
	int path_fd = egs_rundir_open_inside(at, name, OPEN_DIR | O_PATH, 0);
	char path[64];
	DIR *list;

	if (path_fd < 0)
		return NULL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	chmod(path, 0700);
	list = opendir(path);
	close(path_fd);
	return list;
}

/* Empty the directory 'name' of 'at'. */
static void empty_dir(struct removal *r, int at, const char *name)
{
	DIR *list = open_dir(at, name);
	const struct dirent *entry;

	if (!list)
		return;
	while ((entry = readdir(list)))
		if (!is_dots(entry->d_name))
			remove_entry(r, dirfd(list), entry->d_name);
	closedir(list);
}

static void move_to_top(struct removal *r, int at, const char *name)
{
	char to[32];

	DIR *list = open_dir(at, name);

	/* Moving a directory needs write permission in it, as it has now. */
	if (list)
		closedir(list);
	snprintf(to, sizeof(to), ".egs-%u", r->moved++);
	if (renameat(at, name, r->top, to) == 0 || errno == EEXIST ||
	    errno == ENOTEMPTY) /* try another name in the next round */
		r->more_dirs = true;
}

static void remove_entry(struct removal *r, int at, const char *name)
{
	if (!remove_simple(at, name) && errno == ENOTEMPTY)
		move_to_top(r, at, name);
}

static DIR *list_dir(int at)
{
	int fd = openat(at, ".", OPEN_DIR);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (!list && fd >= 0)
		close(fd);
	return list;
}

/* One round: remove the files at the top and empty its directories. */
static void empty_top(struct removal *r)
{
	DIR *list = list_dir(r->top);
	const struct dirent *entry;

	r->more_dirs = false;
	while (list && (entry = readdir(list))) {
		if (is_dots(entry->d_name) ||
		    remove_simple(r->top, entry->d_name))
			continue;
		empty_dir(r, r->top, entry->d_name);
		unlinkat(r->top, entry->d_name, AT_REMOVEDIR);
	}
	if (list)
		closedir(list);
}

/* Remove everything in the directory 'top', as its owner. */
static void empty_as_owner(int top)
{
	struct removal r = { .top = top, .more_dirs = true };
	uint64_t end_ms = egs_now_ms() + REMOVAL_MS;
	struct stat is;

	if (fstat(top, &is) < 0)
		return;
	fchmod(top, 0700);
	egs_as_user_begin(is.st_uid, is.st_gid);
	while (r.more_dirs && egs_now_ms() < end_ms)
		empty_top(&r);
	egs_as_user_end();
}

/* The run directory in the directory of its job. */
static void remove_rundir(int parent)
{
	int top;

	if (egs_rundir_unmount(parent) == 0 &&
	    unlinkat(parent, EGS_RUNDIRS_MOUNT, AT_REMOVEDIR) == 0)
		return;
	top = egs_rundir_open_top(parent);
	if (top < 0)
		return;
	empty_as_owner(top);
	close(top);
	unlinkat(parent, EGS_RUNDIRS_MOUNT, AT_REMOVEDIR);
}

/* Remove 'name' of 'parent', which users cannot change.  A directory in there
 * may be a user's.
 */
static void remove_from_job_dir(int parent, const char *name)
{
	int fd;

	if (remove_simple(parent, name))
		return;
	fd = egs_rundir_open_inside(parent, name, OPEN_DIR, 0);
	if (fd < 0)
		return;
	empty_as_owner(fd);
	close(fd);
	unlinkat(parent, name, AT_REMOVEDIR);
}

/* What is left in the directory of a job.  The device of the run directory, a
 * link, stays until that is gone.
 */
static void empty_job_dir(int parent)
{
	DIR *list = list_dir(parent);
	const struct dirent *entry;

	while (list && (entry = readdir(list)))
		if (!is_dots(entry->d_name) && entry->d_type != DT_LNK)
			remove_from_job_dir(parent, entry->d_name);
	if (list)
		closedir(list);
	if (unlinkat(parent, EGS_RUNDIRS_MOUNT, AT_REMOVEDIR) == 0 ||
	    errno == ENOENT)
		egs_rundir_forget_device(parent);
}

/* Earlier versions gave the directory of a job to its user. */
static bool is_of_user(int parent)
{
	struct stat is;

	return fstat(parent, &is) < 0 || is.st_uid != geteuid();
}

int egs_rundir_remove(int dirs, const char *name, struct egs_err *err)
{
	int parent = openat(dirs, name, OPEN_DIR);
	int rc;

	if (parent >= 0) {
		remove_rundir(parent);
		if (is_of_user(parent))
			empty_as_owner(parent);
		else
			empty_job_dir(parent);
		close(parent);
		rc = unlinkat(dirs, name, AT_REMOVEDIR);
	} else {
		rc = errno == ENOTDIR ? unlinkat(dirs, name, 0) : -1;
	}
	return rc < 0 ? egs_errf(err, "%s: %s", name, strerror(errno)) : 0;
}

/* ---- all directories of a node ---- */

static bool has_prefix(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool is_retired(const char *name)
{
	return has_prefix(name, EGS_RUNDIRS_RETIRED) ||
	       has_prefix(name, EGS_RUNDIRS_STUCK);
}

/* The maker of an abandoned directory was killed before it was complete.  A
 * report that is so old is about a job that has ended, and so is a save program
 * without a run directory.
 */
static bool is_abandoned(int dirs, const char *name)
{
	struct stat is;

	return (has_prefix(name, EGS_RUNDIRS_NEW) ||
		has_prefix(name, EGS_RUNDIRS_REPORT) ||
		egs_save_program_is_unused(dirs, name)) &&
	       fstatat(dirs, name, &is, AT_SYMLINK_NOFOLLOW) == 0 &&
	       is.st_ctime + ABANDONED_S < time(NULL);
}

bool egs_rundirs_is_removable(int dirs, const char *name)
{
	return is_retired(name) || is_abandoned(dirs, name);
}

int egs_rundirs_clean(int dirs, struct egs_err *err)
{
	DIR *list = list_dir(dirs);
	const struct dirent *entry;
	int rc = 0;

	if (!list)
		return egs_errf(err, "run directories: %s", strerror(errno));
	while ((entry = readdir(list)))
		if (egs_rundirs_is_removable(dirs, entry->d_name) &&
		    egs_rundir_remove(dirs, entry->d_name,
				      rc == 0 ? err : NULL) < 0)
			rc = -1;
	closedir(list);
	return rc;
}

static void unmount_retired(int dirs, const char *name)
{
	int parent = openat(dirs, name, OPEN_DIR);

	if (parent < 0)
		return;
	if (egs_rundir_unmount(parent) == 0 &&
	    unlinkat(parent, EGS_RUNDIRS_MOUNT, AT_REMOVEDIR) == 0)
		egs_rundir_forget_device(parent);
	close(parent);
	unlinkat(dirs, name, AT_REMOVEDIR);
}

void egs_rundirs_unmount_retired(int dirs)
{
	DIR *list = list_dir(dirs);
	const struct dirent *entry;
	int n = 0;

	while (list && n < RETIRED_AT_ONCE_MAX && (entry = readdir(list)))
		if (is_retired(entry->d_name)) {
			unmount_retired(dirs, entry->d_name);
			n++;
		}
	if (list)
		closedir(list);
}
