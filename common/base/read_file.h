/* read_file.h - read the whole text of one file */
#ifndef EGS_BASE_READ_FILE_H
#define EGS_BASE_READ_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "common/base/err.h"

struct egs_file_text {
	char *text; /* not terminated; free() it */
	size_t size;
	dev_t dev; /* identify the file, whatever its name */
	ino_t ino;
};

/* Read the regular file 'path' of at most 'max' bytes, none of them NUL.
 * Never waits: pipes and devices are refused.  Returns 0, or -1 with 'err' set
 * to "PATH ..." and '*file' as it was.
 */
int egs_read_file(struct egs_file_text *file, const char *path, size_t max,
		  struct egs_err *err);

/* The end of a path, short enough to leave room for a sentence about it. */
const char *egs_path_tail(const char *path);

#endif
