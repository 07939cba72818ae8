/* proc.h - read files of /proc/PID
 *
 * Whose a process is comes from here: the uid and the start time are the
 * kernel's.  The name, the arguments and the environment are what the process
 * says about itself.
 */
#ifndef EGS_NODE_PROC_H
#define EGS_NODE_PROC_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"

#define EGS_PROC_PATH_MAX 1024

/* Read 'path' instead of /proc, which is the default (NULL).  For tests. */
void egs_proc_set_root(const char *path);

/* Write the path of /proc/PID/NAME; PID 0: of /proc itself. */
void egs_proc_path(char path[EGS_PROC_PATH_MAX], pid_t pid, const char *name);

/* Read /proc/PID/NAME, as much as fits into 'size', and add a NUL.  Returns the
 * length, or -1 with errno set and an empty text if it cannot be read.
 */
ssize_t egs_proc_read(pid_t pid, const char *name, char *text, size_t size);

/* Read the link /proc/PID/NAME.  Returns its length, or -1 with errno set and
 * an empty text.
 */
ssize_t egs_proc_readlink(pid_t pid, const char *name, char *text, size_t size);

/* Does this errno mean that the process has ended, or closed the file?  Any
 * other errno means that we may not look.
 */
bool egs_proc_is_gone(int error);

/* Write why a file of a process cannot be read.  Returns 0 if the process is
 * gone, else -1.
 */
int egs_proc_fail(pid_t pid, const char *name, struct egs_err *err);

/* What the kernel knows of a process. */
struct egs_proc_stat {
	char state;
	pid_t parent;
	uint32_t threads;
	uint64_t start; /* with the pid: unique until the next boot */
};

/* Returns 0, or -1 with errno set. */
int egs_proc_stat(pid_t pid, struct egs_proc_stat *stat);

/* The parent of a process, 0: unknown. */
pid_t egs_proc_parent(pid_t pid);

/* Read the real uid.  The owner of /proc/PID is root if a process has made
 * itself undumpable, so do not ask there.  Returns 0, or -1 with errno set.
 */
int egs_proc_uid(pid_t pid, uid_t *uid);

/* Write the name of a process, which it may choose; "": unknown.  Characters
 * that could fake a part of a sentence become '?'.
 */
void egs_proc_command(pid_t pid, char *command, size_t size);

/* Call 'fn' with each process until it returns a value other than 0.  Returns
 * that value, else 0; -1 with 'err' set if /proc cannot be read.
 */
int egs_proc_each(int (*fn)(void *arg, pid_t pid), void *arg,
		  struct egs_err *err);

/* The value of a variable in an environment of 'len' bytes, NULL: none. */
const char *egs_proc_find_env(const char *env, size_t len, const char *name);

#endif
