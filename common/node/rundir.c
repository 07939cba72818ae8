/* rundir.c - make, open and retire the run directory of a job */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/node/rundir.h"
#include "common/node/save_program.h"

enum { NAME_SIZE = 80, OPEN_DIR = O_RDONLY | O_DIRECTORY | O_CLOEXEC };

/* The kernel drops root's rights over files with setfsuid() to another user,
 * and restores them with setfsuid() to root.
 */
void egs_as_user_begin(uid_t uid, gid_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
}

void egs_as_user_end(void)
{
	setfsuid(geteuid());
	setfsgid(getegid());
}

bool egs_node_name_is_valid(const char *node)
{
	size_t i;

	for (i = 0; node[i]; i++)
		if (!isalnum((unsigned char)node[i]) && node[i] != '-' &&
		    node[i] != '_' && (node[i] != '.' || i == 0))
			return false;
	return i > 0 && i <= EGS_RUNDIR_NAME_MAX;
}

/* Open 'name' below 'at' if we own it.  A missing directory is created with
 * mode 0755, whatever the umask is, because users must be able to enter it.
 */
static int ensure_own_dir(int at, const char *name, struct egs_err *err)
{
	bool is_new = mkdirat(at, name, 0755) == 0;
	struct stat is;
	int fd;

	if (!is_new && errno != EEXIST)
		return egs_errf(err, "%s: %s", name, strerror(errno));
	fd = openat(at, name, OPEN_DIR | O_NOFOLLOW);
	if (fd < 0 || (is_new && fchmod(fd, 0755) < 0) || fstat(fd, &is) < 0)
		egs_errf(err, "%s: %s", name, strerror(errno));
	else if (is.st_uid != geteuid() || is.st_mode & (S_IWGRP | S_IWOTH))
		egs_errf(err, "%s is writable by other users", name);
	else
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int egs_rundir_open_node_dir(const char *node_dir, const char *node,
			     struct egs_err *err)
{
	int parent, fd;

	if (!egs_node_name_is_valid(node))
		return egs_errf(err, "'%s' is not a valid node name",
				egs_printable(node).text);
	parent = ensure_own_dir(AT_FDCWD, node_dir, err);
	if (parent < 0)
		return -1;
	fd = ensure_own_dir(parent, node, err);
	close(parent);
	return fd;
}

static void format_job_name(char name[NAME_SIZE], uint32_t job)
{
	snprintf(name, NAME_SIZE, "%" PRIu32, job);
}

/* A name that is not in use.  The time is in the name because a process may
 * need several names.
 */
static void format_unique_name(char name[NAME_SIZE], const char *prefix,
			       uint32_t job)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(name, NAME_SIZE, "%s%" PRIu32 "-%d-%lld%09ld", prefix, job,
		 (int)getpid(), (long long)now.tv_sec, now.tv_nsec);
}

static int open_rundir(int dirs, uint32_t job)
{
	char name[NAME_SIZE];
	int parent, fd, why;

	format_job_name(name, job);
	parent = openat(dirs, name, OPEN_DIR | O_NOFOLLOW);
	if (parent < 0)
		return -1;
	fd = egs_rundir_open_top(parent);
	why = errno;
	close(parent);
	errno = why;
	return fd;
}

int egs_rundir_retire(int dirs, uint32_t job)
{
	char name[NAME_SIZE], gone[NAME_SIZE];

	format_job_name(name, job);
	format_unique_name(gone, EGS_RUNDIRS_RETIRED, job);
	egs_save_program_forget(dirs, job);
	if (renameat(dirs, name, dirs, gone) < 0)
		return -1;
	fchmodat(dirs, gone, 0700, 0); /* users find nothing to mount on */
	return 0;
}

void egs_rundir_retire_unusable(int dirs, uint32_t job)
{
	int fd = open_rundir(dirs, job);
	char name[NAME_SIZE];

	format_job_name(name, job);
	if (fd >= 0)
		close(fd);
	else if ((errno == ENOENT || errno == EXDEV) &&
		 faccessat(dirs, name, F_OK, 0) == 0)
		egs_rundir_retire(dirs, job);
}

/* Create the files of a new directory, with its owner's permissions. */
static int create_files(int fd)
{
	struct egs_rundir_flag flag = { .notice = 0 };
	int file, rc = -1;

	memcpy(flag.magic, EGS_RUNDIR_FLAG_MAGIC, sizeof(flag.magic));
	if (mkdirat(fd, EGS_RUNDIR_OUT_DIR, 0700) < 0 ||
	    mkdirat(fd, EGS_RUNDIR_IN_DIR, 0700) < 0)
		return -1;
	file = openat(fd, EGS_RUNDIR_FLAG_FILE,
		      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		      0600);
	if (file >= 0 && write(file, &flag, sizeof(flag)) == sizeof(flag))
		rc = 0;
	if (file >= 0)
		close(file);
	return rc;
}

static int create_rundir(int parent, const struct egs_rundir_spec *spec)
{
	int fd, rc = -1;

	if (mkdirat(parent, EGS_RUNDIRS_MOUNT, 0700) < 0 ||
	    (spec->size_kib && egs_rundir_mount(parent, spec) < 0))
		return -1;
	fd = openat(parent, EGS_RUNDIRS_MOUNT, OPEN_DIR | O_NOFOLLOW);
	if (fd >= 0 && egs_rundir_remember_device(parent, fd) == 0 &&
	    fchmod(fd, 0700) == 0 && fchown(fd, spec->uid, spec->gid) == 0) {
		egs_as_user_begin(spec->uid, spec->gid);
		rc = create_files(fd);
		egs_as_user_end();
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Create a complete directory under a temporary name. */
static int create_job_dir(int dirs, const char *name,
			  const struct egs_rundir_spec *spec)
{
	int fd, rc = -1;

	if (mkdirat(dirs, name, 0755) < 0)
		return -1;
	fd = openat(dirs, name, OPEN_DIR | O_NOFOLLOW);
	if (fd >= 0 && fchmod(fd, 0755) == 0)
		rc = create_rundir(fd, spec);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Use the existing directory: an earlier step of the job has made it.  If the
 * directory belongs to another user, it is from an earlier job with this id.
 */
static bool reuse_rundir(int dirs, uint32_t job, uid_t uid)
{
	struct egs_rundir dir;
	bool ours;

	if (egs_rundir_open(dirs, job, &dir) < 0)
		return false;
	ours = dir.uid == uid && futimens(dir.fd, NULL) == 0;
	if (!ours)
		egs_rundir_retire(dirs, job);
	egs_rundir_close(&dir);
	return ours;
}

int egs_rundir_make(int dirs, const struct egs_rundir_spec *spec, bool replace,
		    struct egs_err *err)
{
	char name[NAME_SIZE], new[NAME_SIZE];
	int rc = -1, why;

	if (replace)
		egs_rundir_retire(dirs, spec->job);
	else if (reuse_rundir(dirs, spec->job, spec->uid))
		return 0;
	egs_rundir_retire_unusable(dirs, spec->job);
	format_job_name(name, spec->job);
	format_unique_name(new, EGS_RUNDIRS_NEW, spec->job);
	if (create_job_dir(dirs, new, spec) == 0)
		rc = renameat(dirs, new, dirs, name);
	if (rc == 0)
		return 0;
	why = errno;
	egs_rundir_remove(dirs, new, NULL);
	/* Another step may have made it at the same time. */
	if (reuse_rundir(dirs, spec->job, spec->uid))
		return 0;
	return egs_errf(err, "job %s: no run directory: %s", name,
			strerror(why));
}

int egs_rundir_open(int dirs, uint32_t job, struct egs_rundir *dir)
{
	struct stat is;

	dir->fd = open_rundir(dirs, job);
	if (dir->fd < 0)
		return -1;
	if (fstat(dir->fd, &is) < 0) {
		egs_rundir_close(dir);
		return -1;
	}
	dir->uid = is.st_uid;
	dir->gid = is.st_gid;
	dir->device = is.st_dev;
	dir->inode = is.st_ino;
	dir->changed_s = is.st_ctime;
	return 0;
}

void egs_rundir_close(struct egs_rundir *dir)
{
	if (dir->fd >= 0)
		close(dir->fd);
	dir->fd = -1;
}
