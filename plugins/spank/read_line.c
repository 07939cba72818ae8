/* read_line.c - read one line within a time limit */
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "plugins/spank/read_line.h"

static int wait_readable(int fd, int ms)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	return poll(&wait, 1, ms);
}

const struct egs_read_line_clock egs_read_line_clock = { egs_now_ms,
							 wait_readable };

int egs_read_line(int fd, char *line, size_t size, unsigned ms,
		  const struct egs_read_line_clock *clock)
{
	uint64_t end = clock->now_ms() + ms, now;
	size_t used = 0;
	char *newline;
	ssize_t n;

	while (used + 1 < size && (now = clock->now_ms()) < end &&
	       clock->wait(fd, (int)(end - now)) > 0) {
		n = read(fd, line + used, size - 1 - used);
		if (n <= 0)
			break;
		newline = memchr(line + used, '\n', (size_t)n);
		if (newline) {
			*newline = '\0';
			return 0;
		}
		used += (size_t)n;
	}
	*line = '\0';
	return -1;
}
