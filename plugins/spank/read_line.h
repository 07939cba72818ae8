/* read_line.h - one line of somebody who may say nothing */
#ifndef EGS_SPANK_READ_LINE_H
#define EGS_SPANK_READ_LINE_H

#include <stddef.h>
#include <stdint.h>

/* A clock, and a wait for something to read: as poll(), for one file. */
struct egs_read_line_clock {
	uint64_t (*now_ms)(void);
	int (*wait)(int fd, int ms);
};

/* The steady clock of this machine. */
extern const struct egs_read_line_clock egs_read_line_clock;

/* Read a line from 'fd' into 'line', without its end: what is there after 'ms',
 * or at the end of the file, is no line.  All waits together take 'ms' and no
 * more, in however many pieces it comes.  0, or -1 with 'line' empty.
 */
int egs_read_line(int fd, char *line, size_t size, unsigned ms,
		  const struct egs_read_line_clock *clock);

#endif
