/* terminal.c - the terminal as a screen, restored however the process ends */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cmd/egsctl/terminal.h"
#include "common/base/array.h"
#include "common/base/fd.h"

enum { COLUMNS_DEFAULT = 80, COLUMNS_MAX = 1000, ESCAPE_MS = 20 };

/* Another screen, no cursor, no wrap of long lines; and back. */
static const char enter_codes[] = "\033[?1049h\033[?25l\033[?7l\033[2J";
static const char leave_codes[] = "\033[0m\033[?7h\033[?25h\033[?1049l";

/* A signal handler has no argument. */
static struct {
	struct termios before;
	volatile sig_atomic_t is_open;
} self;

static void write_codes(const char *codes, size_t len)
{
	/* Nothing helps if the terminal is gone. */
	if (egs_write_all(STDOUT_FILENO, codes, len) < 0)
		return;
}

/* Only calls that a signal handler may make. */
static void leave_screen(void)
{
	if (!self.is_open)
		return;
	self.is_open = 0;
	write_codes(leave_codes, sizeof(leave_codes) - 1);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &self.before);
}

static void enter_screen(void)
{
	struct termios keys = self.before;

	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	keys.c_cc[VMIN] = 0;
	keys.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
	self.is_open = 1;
	write_codes(enter_codes, sizeof(enter_codes) - 1);
}

/* End as without a handler, so that the parent sees the signal. */
static void on_end(int signo)
{
	leave_screen();
	signal(signo, SIG_DFL);
	raise(signo);
}

static void on_stop(int signo)
{
	int error = errno;

	(void)signo;
	leave_screen();
	raise(SIGSTOP);
	enter_screen();
	errno = error;
}

/* It only has to interrupt poll(). */
static void on_resize(int signo)
{
	(void)signo;
}

static void set_handler(int signo, void (*fn)(int signo))
{
	struct sigaction act = { .sa_handler = fn };

	sigemptyset(&act.sa_mask);
	sigaction(signo, &act, NULL);
}

int egs_terminal_open(struct egs_err *err)
{
	static const int ends[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE,
				    SIGSEGV, SIGABRT, SIGALRM, SIGBUS };
	const char *term = getenv("TERM");

	if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &self.before) < 0)
		return egs_errf(err, "top needs a terminal; use --once");
	if (term && strcmp(term, "dumb") == 0)
		return egs_errf(err, "top needs a terminal with a cursor, and "
				     "TERM is dumb; use --once");
	if (atexit(leave_screen) != 0)
		return egs_errf(err, "out of memory");
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		set_handler(ends[i], on_end);
	set_handler(SIGTSTP, on_stop);
	set_handler(SIGWINCH, on_resize);
	enter_screen();
	return 0;
}

void egs_terminal_close(void)
{
	leave_screen();
}

void egs_terminal_get_size(int *columns, int *rows)
{
	const char *text = getenv("COLUMNS");
	struct winsize size = { 0 };
	long n = text ? strtol(text, NULL, 10) : 0;

	*columns = n > 0 && n <= COLUMNS_MAX ? (int)n : COLUMNS_DEFAULT;
	*rows = 0;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col)
		return;
	*columns = size.ws_col < COLUMNS_MAX ? size.ws_col : COLUMNS_MAX;
	*rows = size.ws_row;
}

void egs_terminal_show(const char *text, size_t len)
{
	write_codes("\033[H", 3);
	write_codes(text, len);
	write_codes("\033[J", 3);
}

/* A byte of the terminal, or EGS_KEY_*. */
static int read_byte(int ms)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	unsigned char byte;
	ssize_t n;

	if (poll(&in, 1, ms) <= 0)
		return EGS_KEY_NONE;
	n = read(STDIN_FILENO, &byte, 1);
	if (n == 1)
		return byte;
	return n < 0 && (errno == EINTR || errno == EAGAIN) ? EGS_KEY_NONE
							    : EGS_KEY_CLOSED;
}

/* Keys that are not characters send ESC [ and a letter, or ESC [ 5 ~. */
static int read_escape(void)
{
	static const struct {
		char letter;
		int key;
	} keys[] = {
		{ 'A', EGS_KEY_UP },
		{ 'B', EGS_KEY_DOWN },
		{ '5', EGS_KEY_PAGE_UP },
		{ '6', EGS_KEY_PAGE_DOWN },
	};
	int key = EGS_KEY_OTHER, byte = read_byte(ESCAPE_MS);

	if (byte != '[' && byte != 'O')
		return key;
	byte = read_byte(ESCAPE_MS);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].letter == byte)
			key = keys[i].key;
	while (byte >= '0' && byte <= ';')
		byte = read_byte(ESCAPE_MS);
	return key;
}

int egs_terminal_read_key(int ms)
{
	int byte = read_byte(ms);

	return byte == '\033' ? read_escape() : byte;
}
