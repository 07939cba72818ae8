/* fdinfo.h - what the kernel says about an open file of another process
 *
 * A file is named by the directory of open files that has it, "fd" or
 * "task/TID/fd", and by its number there.
 */
#ifndef EGS_NODE_FDINFO_H
#define EGS_NODE_FDINFO_H

#include <stdbool.h>
#include <sys/types.h>

struct egs_fdinfo {
	bool is_path; /* opened with O_PATH, which uses no device */
	ino_t inode;  /* 0: unknown, before Linux 5.14 */
};

/* Returns 0, or -1 with errno set. */
int egs_fdinfo_read(pid_t pid, const char *table, const char *number,
		    struct egs_fdinfo *info);

/* Does an open file hold others, which no directory of open files shows?  A
 * Unix socket holds files that were sent and not received, an io_uring those
 * that were registered.  'link' is what the link of the file says.  Returns 1
 * with '*what' = "files in flight in a socket" or the like, also if the kernel
 * does not tell at this moment; 0, or -1 with errno set.
 */
int egs_fdinfo_holds_files(pid_t pid, const char *table, const char *number,
			   const char *link, const char **what);

/* Does this text about an io_uring tell of a file that is registered, or may
 * the kernel have left that out?  'kernel' is 5015 for Linux 5.15.
 */
bool egs_fdinfo_has_registered(const char *text, unsigned kernel);

#endif
