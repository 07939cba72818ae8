/* fd.c - read, write, lock and close file descriptors */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/base/fd.h"

enum { LOCK_TRIES = 100, LOCK_PAUSE_NS = 20000000 };

ssize_t egs_read_all(int fd, void *bytes, size_t size)
{
	size_t used = 0;

	while (used < size) {
		ssize_t n = read(fd, (char *)bytes + used, size - used);

		if (n < 0 && errno != EINTR)
			return -1;
		if (n == 0)
			break;
		used += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)used;
}

int egs_write_all(int fd, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

void egs_close_others(int keep)
{
	DIR *list = opendir("/proc/self/fd");
	const struct dirent *entry;

	while (list && (entry = readdir(list))) {
		int fd = (int)strtol(entry->d_name, NULL, 10);

		if (fd > STDERR_FILENO && fd != keep && fd != dirfd(list))
			close(fd);
	}
	if (list)
		closedir(list);
}

int egs_lock_file(int fd)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };

	/* SQLite locks other bytes of its files. */
	for (int i = 0; i < LOCK_TRIES; i++) {
		struct flock first_byte = { .l_type = F_WRLCK,
					    .l_whence = SEEK_SET,
					    .l_len = 1 };

		if (fcntl(fd, F_SETLK, &first_byte) == 0)
			return 0;
		if (errno != EAGAIN && errno != EACCES && errno != EINTR)
			return -1;
		nanosleep(&pause, NULL);
	}
	errno = EWOULDBLOCK;
	return -1;
}
