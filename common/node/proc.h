/* proc.h - read files of /proc/PID */
#ifndef EGS_NODE_PROC_H
#define EGS_NODE_PROC_H

#include <stddef.h>
#include <sys/types.h>

/* Read /proc/PID/NAME, as much as fits into 'size', and add a NUL.  Returns the
 * length, or -1 with an empty text if it cannot be read.
 */
ssize_t egs_proc_read(pid_t pid, const char *name, char *text, size_t size);

/* The parent of a process, 0: unknown. */
pid_t egs_proc_parent(pid_t pid);

/* The value of a variable in an environment of 'len' bytes, NULL: none. */
const char *egs_proc_find_env(const char *env, size_t len, const char *name);

#endif
