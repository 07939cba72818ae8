/* rundir_mount.c - a run directory is a file system of its own
 *
 * So a job cannot fill the file system of all run directories, which is /run of
 * the node.  slurmstepd mounts it.  An egs-noded with the rights of its service
 * may not unmount; then spank_egs does, before the next step.
 */
#define _GNU_SOURCE /* syscall, statx */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/node/rundir.h"

/* Missing in older headers.  Since Linux 5.2 these numbers are the same on all
 * architectures but alpha.
 */
#ifndef SYS_open_tree
#define SYS_open_tree 428
#endif
#ifndef SYS_move_mount
#define SYS_move_mount 429
#endif
#define CLONE_MOUNT  1 /* OPEN_TREE_CLONE */
#define MOVE_FROM_FD 4 /* MOVE_MOUNT_F_EMPTY_PATH */
#define SIZE_MIN_KIB 64
#define PATH_SIZE    64
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#define STAY_INSIDE 5 /* RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS */
#define DEVICE_LINK "device"
#define DEVICE_SIZE 32
/* Users may mount over a run directory, with fusermount up to 1,000 times. */
#define MOUNTS_AT_ONE_MAX 4096

static void format_fd_path(char path[PATH_SIZE], int fd, const char *name)
{
	snprintf(path, PATH_SIZE, "/proc/self/fd/%d/%s", fd, name);
}

int egs_rundir_mount(int parent, const struct egs_rundir_spec *spec)
{
	uint32_t kib =
		spec->size_kib < SIZE_MIN_KIB ? SIZE_MIN_KIB : spec->size_kib;
	char path[PATH_SIZE], options[128];

	format_fd_path(path, parent, EGS_RUNDIRS_MOUNT);
	snprintf(options, sizeof(options),
		 "size=%" PRIu32 "k,nr_inodes=%" PRIu32
		 ",mode=0700,uid=%u,gid=%u",
		 kib, spec->inodes, (unsigned)spec->uid, (unsigned)spec->gid);
	return mount("egs-rundir", path, "tmpfs",
		     MS_NOSUID | MS_NODEV | MS_NOEXEC, options);
}

int egs_rundir_unmount_at(int at, const char *name)
{
	char path[PATH_SIZE + NAME_MAX];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", at, name);
	return umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW);
}

/* EINVAL: it is no mount point. */
int egs_rundir_unmount(int parent)
{
	for (int i = 0; i < MOUNTS_AT_ONE_MAX; i++)
		if (egs_rundir_unmount_at(parent, EGS_RUNDIRS_MOUNT) < 0)
			return errno == EINVAL || errno == ENOENT ? 0 : -1;
	errno = EBUSY;
	return -1;
}

/* ---- file systems that users mount over or in it ---- */

/* The device of 'fd', without asking its file system: a user's may not answer.
 * Returns 0, or -1 with errno set.
 */
static int format_device(int fd, char text[DEVICE_SIZE])
{
	struct statx is;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &is) < 0)
		return -1;
	snprintf(text, DEVICE_SIZE, "%x:%x", is.stx_dev_major,
		 is.stx_dev_minor);
	return 0;
}

int egs_rundir_remember_device(int parent, int dir_fd)
{
	char device[DEVICE_SIZE];

	if (format_device(dir_fd, device) < 0)
		return errno == ENOSYS ? 0 : -1;
	return symlinkat(device, parent, DEVICE_LINK);
}

void egs_rundir_forget_device(int parent)
{
	unlinkat(parent, DEVICE_LINK, 0);
}

/* Earlier versions did not remember the device. */
static bool has_own_device(int parent, int fd)
{
	char own[DEVICE_SIZE], device[DEVICE_SIZE];
	ssize_t n = readlinkat(parent, DEVICE_LINK, own, sizeof(own) - 1);

	if (n < 0 || format_device(fd, device) < 0)
		return true;
	own[n] = '\0';
	return strcmp(own, device) == 0;
}

/* O_PATH does not ask the file system, and names the mount that was checked. */
int egs_rundir_open_top(int parent)
{
	int path_fd = openat(parent, EGS_RUNDIRS_MOUNT,
			     O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[PATH_SIZE];
	int fd = -1;

	if (path_fd < 0)
		return -1;
	format_fd_path(path, path_fd, "");
	if (has_own_device(parent, path_fd))
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	else
		errno = EXDEV;
	close(path_fd);
	return fd;
}

int egs_rundir_open_inside(int at, const char *name, int flags, mode_t mode)
{
	const struct {
		uint64_t flags, mode, resolve;
	} how = { .flags = (uint64_t)flags,
		  .mode = flags & O_CREAT ? mode : 0,
		  .resolve = STAY_INSIDE };
	int fd = (int)syscall(SYS_openat2, at, name, &how, sizeof(how));

	/* before Linux 5.6 */
	return fd < 0 && errno == ENOSYS ? openat(at, name, flags, mode) : fd;
}

int egs_rundir_hold(int dirs, uint32_t job)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "%" PRIu32 "/" EGS_RUNDIRS_MOUNT, job);
	return (int)syscall(SYS_open_tree, dirs, path, CLONE_MOUNT | O_CLOEXEC);
}

int egs_rundir_show(int held, const char *path)
{
	struct stat is, seen;

	if (fstat(held, &is) < 0)
		return -1;
	if (stat(path, &seen) == 0 && seen.st_dev == is.st_dev &&
	    seen.st_ino == is.st_ino)
		return 0;
	return (int)syscall(SYS_move_mount, held, "", AT_FDCWD, path,
			    MOVE_FROM_FD);
}
