/* read_file.c - read the whole text of one file */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/fd.h"
#include "common/base/read_file.h"

const char *egs_path_tail(const char *path)
{
	size_t len = strlen(path);

	return len > 200 ? path + len - 200 : path;
}

static int check_file(int fd, const char *path, size_t max, size_t *room,
		      struct egs_file_text *file, struct egs_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return egs_errf(err, "%s cannot be read: %s", path,
				strerror(errno));
	if (S_ISDIR(st.st_mode))
		return egs_errf(err, "%s is a directory, not a file", path);
	if (!S_ISREG(st.st_mode))
		return egs_errf(err, "%s is not a regular file", path);
	if ((size_t)st.st_size > max)
		return egs_errf(err, "%s is too big, biggest is %zu bytes",
				path, max);
	*room = (size_t)st.st_size;
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	return 0;
}

/* Read at most the size that fstat() has shown: the file may be growing. */
static int read_text(int fd, const char *path, size_t room,
		     struct egs_file_text *file, struct egs_err *err)
{
	ssize_t n;

	file->text = calloc(1, room + 1);
	if (!file->text)
		return egs_errf(err, "%s: out of memory", path);
	n = egs_read_all(fd, file->text, room);
	if (n < 0)
		return egs_errf(err, "%s cannot be read: %s", path,
				strerror(errno));
	file->size = (size_t)n;
	return 0;
}

static int refuse_nul(const char *path, const struct egs_file_text *file,
		      struct egs_err *err)
{
	const char *nul = memchr(file->text, '\0', file->size);
	unsigned line = 1;

	if (!nul)
		return 0;
	for (const char *p = file->text; p < nul; p++)
		line += *p == '\n';
	return egs_errf(err, "%s has a NUL byte on line %u; it is not text",
			path, line);
}

int egs_read_file(struct egs_file_text *file, const char *path, size_t max,
		  struct egs_err *err)
{
	struct egs_file_text new = { 0 };
	const char *shown = egs_path_tail(path);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	size_t room = 0;
	int rc;

	if (fd < 0)
		return egs_errf(err, "%s cannot be read: %s", shown,
				strerror(errno));
	rc = check_file(fd, shown, max, &room, &new, err);
	if (rc == 0)
		rc = read_text(fd, shown, room, &new, err);
	if (rc == 0)
		rc = refuse_nul(shown, &new, err);
	close(fd);
	if (rc == 0)
		*file = new;
	else
		free(new.text);
	return rc;
}
