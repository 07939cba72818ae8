/* read_line.h - read one line within a time limit */
#ifndef EGS_SPANK_READ_LINE_H
#define EGS_SPANK_READ_LINE_H

#include <stddef.h>
#include <stdint.h>

/* A clock, and a wait for input of one file as by poll(). */
struct egs_read_line_clock {
	uint64_t (*now_ms)(void);
	int (*wait)(int fd, int ms);
};

/* The monotonic clock of this machine. */
extern const struct egs_read_line_clock egs_read_line_clock;

/* Read a line from 'fd' into 'line', without its newline.  A line that is not
 * complete after 'ms' or at the end of the file is discarded.  All waits
 * together take at most 'ms'.  Returns 0, or -1 with 'line' empty.
 */
int egs_read_line(int fd, char *line, size_t size, unsigned ms,
		  const struct egs_read_line_clock *clock);

#endif
