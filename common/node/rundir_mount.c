/* rundir_mount.c - a run directory is a file system of its own
 *
 * So a job cannot fill the file system of all run directories, which is /run of
 * the node.  slurmstepd mounts it.  An egs-noded with the rights of its service
 * may not unmount; then spank_egs does, before the next step.
 */
#define _GNU_SOURCE /* syscall */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
#define CLONE_MOUNT	  1 /* OPEN_TREE_CLONE */
#define MOVE_FROM_FD	  4 /* MOVE_MOUNT_F_EMPTY_PATH */
#define SIZE_MIN_KIB	  64
#define PATH_SIZE	  64
#define MOUNTS_AT_ONE_MAX 16

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

/* EINVAL: it is no mount point. */
int egs_rundir_unmount(int parent)
{
	char path[PATH_SIZE];

	format_fd_path(path, parent, EGS_RUNDIRS_MOUNT);
	for (int i = 0; i < MOUNTS_AT_ONE_MAX; i++)
		if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
			return errno == EINVAL || errno == ENOENT ? 0 : -1;
	errno = EBUSY;
	return -1;
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
