/* terminal.h - the terminal as a screen, restored however the process ends
 *
 * Plain escape codes of ECMA-48, which every terminal of today knows.  A
 * library would read terminfo, which a container or a foreign host may lack.
 */
#ifndef EGS_EGSCTL_TERMINAL_H
#define EGS_EGSCTL_TERMINAL_H

#include <stddef.h>

#include "common/base/err.h"

/* Take the terminal: another screen without cursor, and keys without echo.
 * Signals that end the process, and exit(), restore it.  A job stopped by the
 * shell gives it back meanwhile.  Returns 0, or -1 with 'err' set if standard
 * input or output is no terminal, or if it is a dumb one (TERM).
 */
int egs_terminal_open(struct egs_err *err);
void egs_terminal_close(void);

/* Columns and rows of standard output.  Without a terminal: those of COLUMNS,
 * else 80, and no rows.
 */
void egs_terminal_get_size(int *columns, int *rows);

/* Show 'text' from the first row on, and clear what is below it. */
void egs_terminal_show(const char *text, size_t len);

/* Wait up to 'ms' for a key.  Returns the key, EGS_KEY_* for one that is not a
 * character, or EGS_KEY_NONE: the time is over, the size has changed, or the
 * process continues.
 */
enum {
	EGS_KEY_NONE = -1,
	EGS_KEY_CLOSED = -2, /* no key will come any more */
	EGS_KEY_UP = 256,
	EGS_KEY_DOWN,
	EGS_KEY_PAGE_UP,
	EGS_KEY_PAGE_DOWN,
	EGS_KEY_OTHER,
};
int egs_terminal_read_key(int ms);

#endif
