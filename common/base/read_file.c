/* read_file.c - the whole text of one file, or a sentence */
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
		      struct egs_file_text *slurp, struct egs_err *err)
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
		return egs_errf(err, "%s is too big: %zu bytes are left for it",
				path, max);
	*room = (size_t)st.st_size;
	slurp->dev = st.st_dev;
	slurp->ino = st.st_ino;
	return 0;
}

/* As many bytes as there were when we looked, or fewer. */
static int read_all(int fd, const char *path, size_t room,
		    struct egs_file_text *slurp, struct egs_err *err)
{
	ssize_t n;

	slurp->text = calloc(1, room + 1);
	if (!slurp->text)
		return egs_errf(err, "%s: out of memory", path);
	n = egs_read_all(fd, slurp->text, room);
	if (n < 0)
		return egs_errf(err, "%s cannot be read: %s", path,
				strerror(errno));
	slurp->size = (size_t)n;
	return 0;
}

static int refuse_nul(const char *path, const struct egs_file_text *slurp,
		      struct egs_err *err)
{
	const char *nul = memchr(slurp->text, '\0', slurp->size);
	unsigned line = 1;

	if (!nul)
		return 0;
	for (const char *p = slurp->text; p < nul; p++)
		line += *p == '\n';
	return egs_errf(err, "%s has a NUL byte on line %u; it is not text",
			path, line);
}

int egs_read_file(struct egs_file_text *slurp, const char *path, size_t max,
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
		rc = read_all(fd, shown, room, &new, err);
	if (rc == 0)
		rc = refuse_nul(shown, &new, err);
	close(fd);
	if (rc == 0)
		*slurp = new;
	else
		free(new.text);
	return rc;
}
