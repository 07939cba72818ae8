/* read_file.h - the whole text of one file, or a sentence */
#ifndef EGS_BASE_READ_FILE_H
#define EGS_BASE_READ_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "common/base/err.h"

struct egs_file_text {
	char *text; /* not terminated; free() it */
	size_t size;
	dev_t dev; /* which file this is, under whatever name */
	ino_t ino;
};

/* Read the regular file 'path' of at most 'max' bytes, none of them NUL.
 * Never waits: a pipe or a device is refused unread.  Returns 0, or -1 with
 * 'err' set to "PATH ..." and '*slurp' left as it was.
 */
int egs_read_file(struct egs_file_text *slurp, const char *path, size_t max,
		  struct egs_err *err);

/* The end of a path, short enough that a sentence about it still fits. */
const char *egs_path_tail(const char *path);

#endif
