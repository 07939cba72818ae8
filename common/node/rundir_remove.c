/* rundir_remove.c - remove a run directory, whatever its owner left there
 *
 * A directory inside is moved to the top and emptied there.  So a tree of any
 * depth needs no recursion.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/node/rundir.h"

enum {
	OPEN_DIR = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
	ROUNDS_MAX = 1000000, /* a process may keep adding files */
};

struct removal {
	int top;
	unsigned moved; /* directories moved so far */
	bool more_dirs; /* the top has directories to empty */
};

/* Remove the entry 'name' of 'at'.  A directory that is not empty is moved to
 * the top.
 */
static void remove_entry(struct removal *r, int at, const char *name);

/* Empty the directory 'name' of 'at'. */
static void empty_dir(struct removal *r, int at, const char *name)
{
	const struct dirent *entry;
	DIR *list;
	int fd;

	fchmodat(at, name, 0700, 0);
	fd = openat(at, name, OPEN_DIR);
	list = fd < 0 ? NULL : fdopendir(fd);
	if (!list) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(list)))
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			remove_entry(r, dirfd(list), entry->d_name);
	closedir(list);
}

static void move_to_top(struct removal *r, int at, const char *name)
{
	char to[32];

	/* Moving a directory needs write permission in it. */
	fchmodat(at, name, 0700, 0);
	snprintf(to, sizeof(to), ".egs-%u", r->moved++);
	if (renameat(at, name, r->top, to) == 0 || errno == EEXIST ||
	    errno == ENOTEMPTY) /* try another name in the next round */
		r->more_dirs = true;
}

static void remove_entry(struct removal *r, int at, const char *name)
{
	if (unlinkat(at, name, 0) == 0 ||
	    (errno != EISDIR && errno != EPERM && errno != ENOTEMPTY))
		return;
	if (unlinkat(at, name, AT_REMOVEDIR) == 0 || errno == ENOTDIR)
		return;
	move_to_top(r, at, name);
}

/* One round: remove the files at the top and empty its directories. */
static void empty_top(struct removal *r)
{
	int fd = openat(r->top, ".", OPEN_DIR);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	r->more_dirs = false;
	while (list && (entry = readdir(list))) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0 ||
		    unlinkat(r->top, entry->d_name, 0) == 0)
			continue;
		empty_dir(r, r->top, entry->d_name);
		unlinkat(r->top, entry->d_name, AT_REMOVEDIR);
	}
	if (list)
		closedir(list);
	else if (fd >= 0)
		close(fd);
}

int egs_rundir_remove(int dirs, const char *name, struct egs_err *err)
{
	struct removal r = { .more_dirs = true };
	struct stat is;
	unsigned rounds = 0;

	r.top = openat(dirs, name, OPEN_DIR);
	if (r.top < 0 || fstat(r.top, &is) < 0) {
		if (r.top >= 0)
			close(r.top);
		return egs_errf(err, "%s: %s", name, strerror(errno));
	}
	fchmod(r.top, 0700);
	egs_as_user_begin(is.st_uid, is.st_gid);
	while (r.more_dirs && rounds++ < ROUNDS_MAX)
		empty_top(&r);
	egs_as_user_end();
	close(r.top);
	if (unlinkat(dirs, name, AT_REMOVEDIR) < 0)
		return egs_errf(err, "%s: %s", name, strerror(errno));
	return 0;
}
