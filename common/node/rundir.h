/* rundir.h - the run directories of a node (rundir_layout.h: what is in them)
 *
 * Root owns <NodeDir>/<node>/<job>, and only root changes the names in it.  The
 * run directory is 'dir' in there, a file system of its own with a limit of
 * size and files (rundir_mount.c).  It cannot be <job> itself, because a mount
 * point cannot be renamed.  The job's user owns it and may change anything
 * inside, and may mount a file system of its own there (FUSE).  So these
 * functions access files inside with the user's permissions, follow no symbolic
 * link, enter no other file system and never wait.  They can do only what the
 * user could do; an action that fails is skipped.
 *
 * egs-noded calls these functions, and spank_egs before a step starts.
 */
#ifndef EGS_NODE_RUNDIR_H
#define EGS_NODE_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"
#include "common/ipc/rundir_layout.h"

/* The run directory in the directory of its job. */
#define EGS_RUNDIRS_MOUNT "dir"

/* The longest path of a run directory, with its NUL. */
#define EGS_RUNDIR_PATH_SIZE 256

/* Names in the directory of a node. */
#define EGS_RUNDIRS_LOCK	".lock"	  /* held by egs-noded */
#define EGS_RUNDIRS_SLURMD_LOCK ".slurmd" /* held by slurmd */

/* Prefixes of names in the directory of a node. */
#define EGS_RUNDIRS_RETIRED ".gone-"   /* to be removed */
#define EGS_RUNDIRS_STUCK   ".stuck"   /* the same, of earlier versions */
#define EGS_RUNDIRS_NEW	    ".new-"    /* not complete yet */
#define EGS_RUNDIRS_CLEAN   ".clean-"  /* a request of spank_egs */
#define EGS_RUNDIRS_REPORT  ".report-" /* a report of spank_egs */

/* Access files as 'uid' and 'gid', without root's rights, until
 * egs_as_user_end().
 */
void egs_as_user_begin(uid_t uid, gid_t gid);
void egs_as_user_end(void);

/* Is this a valid NodeName of Slurm? */
bool egs_node_name_is_valid(const char *node);

/* Open the directory of 'node'.  The directory and its parent are created if
 * missing.  Returns a file descriptor, or -1 with 'err' set.  The call fails,
 * too, if other users can write to one of them.
 */
int egs_rundir_open_node_dir(const char *node_dir, const char *node,
			     struct egs_err *err);

/* A new run directory, and the limits of its file system.  'size_kib' 0: a
 * plain directory.
 */
struct egs_rundir_spec {
	uint32_t job;
	uid_t uid;
	gid_t gid;
	uint32_t size_kib, inodes;
};

/* Make the run directory of a job.  An existing one stays, unless it belongs to
 * another user or 'replace' is set.  Returns 0, or -1 with 'err' set.
 */
int egs_rundir_make(int dirs, const struct egs_rundir_spec *spec, bool replace,
		    struct egs_err *err);

/* A run directory. */
struct egs_rundir {
	int fd;
	uid_t uid; /* of its owner */
	gid_t gid;
	dev_t device; /* with 'inode': which directory this is */
	ino_t inode;
	int64_t changed_s; /* when it was made, or a step started last */
};

/* Open the run directory of 'job'.  Returns 0, or -1 if there is none, or if
 * its user has mounted something over it.
 */
int egs_rundir_open(int dirs, uint32_t job, struct egs_rundir *dir);
void egs_rundir_close(struct egs_rundir *dir);

/* Call 'fn' with the name of each message in out/, for some hundred at most.
 */
void egs_rundir_each_message(const struct egs_rundir *dir,
			     void (*fn)(void *arg, const char *name),
			     void *arg);

/* Open out/ to watch it.  Returns a file descriptor, or -1. */
int egs_rundir_open_out(const struct egs_rundir *dir);

/* Read the message out/NAME into 'text' and add a NUL.  Returns its length, or
 * -1 if it is too long or not a regular file of the directory's owner.
 */
ssize_t egs_rundir_read_message(const struct egs_rundir *dir, const char *name,
				char text[EGS_RUNDIR_MESSAGE_MAX + 1]);

/* Remove the message out/NAME.  Returns 0, or -1 if that failed. */
int egs_rundir_drop_message(const struct egs_rundir *dir, const char *name);

/* Write the answer in/NAME.  Returns 0, or -1 if that failed. */
int egs_rundir_write_answer(const struct egs_rundir *dir, const char *name,
			    const char *text, size_t len);

/* Write the notice for the job, or remove it ('number' 0: the preemption is
 * withdrawn, or there was none).  Returns 0, or -1 if that failed.
 */
struct egs_rundir_notice {
	uint32_t number;
	uint32_t kind; /* enum egs_notice_kind */
	uint32_t gpus;
	int64_t deadline_s;
	const char *reason;
};
int egs_rundir_write_notice(const struct egs_rundir *dir,
			    const struct egs_rundir_notice *notice);

/* Rename the directory of a job that has ended; egs-noded removes it later. */
int egs_rundir_retire(int dirs, uint32_t job);

/* Retire the directory of a job if it has no run directory: earlier versions
 * made such directories, and a user may have mounted something over it.
 */
void egs_rundir_retire_unusable(int dirs, uint32_t job);

/* Remove the retired directory 'name' and everything in it.  Returns 0, or -1
 * with 'err' set if it could not be removed completely; then a later call
 * continues.  A caller who may not unmount only empties the file system.
 */
int egs_rundir_remove(int dirs, const char *name, struct egs_err *err);

/* Remove all retired directories, those whose maker died before they were
 * complete, and old files of jobs without a directory.  Returns 0, or -1 with
 * 'err' set if something is left.
 */
int egs_rundirs_clean(int dirs, struct egs_err *err);

/* The same in a few milliseconds: unmount retired directories and remove what
 * is empty.
 */
void egs_rundirs_unmount_retired(int dirs);

/* Would egs_rundirs_clean() remove this one? */
bool egs_rundirs_is_removable(int dirs, const char *name);

/* ---- rundir_mount.c ---- */

/* Remember the file system of the run directory 'dir_fd' in 'parent', the
 * directory of its job.  Returns 0, or -1 with errno set.
 */
int egs_rundir_remember_device(int parent, int dir_fd);
void egs_rundir_forget_device(int parent);

/* Open the run directory in 'parent'.  Returns a file descriptor, or -1 with
 * errno set; EXDEV: another file system is mounted over it, and was not asked.
 */
int egs_rundir_open_top(int parent);

/* openat() that enters no other file system (EXDEV) and follows no link. */
int egs_rundir_open_inside(int at, const char *name, int flags, mode_t mode);

/* Mount a file system of the given limits on 'dir' in the directory 'parent'.
 * Returns 0, or -1 with errno set.
 */
int egs_rundir_mount(int parent, const struct egs_rundir_spec *spec);

/* Unmount it and everything over or in it, also while processes use it. Returns
 * 0 if it is not mounted, or -1 with errno set: the caller may not unmount, or
 * lives in another mount namespace.
 */
int egs_rundir_unmount(int parent);

/* Unmount what is mounted on 'name' in the directory 'at'.  Returns 0, or -1
 * with errno set.
 */
int egs_rundir_unmount_at(int at, const char *name);

/* A job may have a mount namespace that was made before the run directory was
 * mounted, and gets no later mounts.  Hold the run directory of 'job' for such
 * namespaces.  Returns a file descriptor, or -1 with errno set (ENOSYS: before
 * Linux 5.2).
 */
int egs_rundir_hold(int dirs, uint32_t job);

/* In the job's namespace: mount what 'held' holds on 'path', unless it is
 * visible there.  Returns 0, or -1 with errno set.
 */
int egs_rundir_show(int held, const char *path);

#endif
