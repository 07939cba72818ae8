/* top.c - the live view in a terminal
 *
 * A picture costs the daemon one request, whatever it shows.  While the daemon
 * does not answer, the last picture stays and its age grows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cmd/egsctl/call.h"
#include "cmd/egsctl/terminal.h"
#include "cmd/egsctl/top.h"
#include "cmd/egsctl/top_draw.h"
#include "common/base/clock.h"

enum { DELAY_S = 2, DELAY_MAX_S = 3600, PAGE_LINES = 10 };

/* Ask for everything.  Returns the exit code; a failure is kept in 'top'. */
static int ask_daemon(struct egs_top *top, const struct egsctl_options *ctl)
{
	struct egs_msg *request = egs_msg_new(), *answer = NULL;
	struct egs_err err = { "out of memory" };
	int code = EGSCTL_FAILED;

	if (request) {
		egs_msg_set_str(request, "verb", "show");
		egs_msg_set_str(request, "what", EGS_TOP_WHAT);
		code = egsctl_ask(request, ctl, &answer, &err);
	}
	if (code == EGSCTL_DONE &&
	    egs_top_read(top, answer, time(NULL), &err) < 0)
		code = EGSCTL_FAILED;
	if (code == EGSCTL_DONE)
		err.msg[0] = '\0';
	top->trouble = err;
	egs_msg_free(request);
	egs_msg_free(answer);
	return code;
}

static void draw_screen(struct egs_top *top)
{
	struct egs_canvas c = { .is_screen = true };

	egs_terminal_get_size(&c.width, &c.rows);
	egs_top_draw(top, &c, time(NULL));
	if (!c.text.failed)
		egs_terminal_show(c.text.bytes, c.text.used);
	egs_buf_clear(&c.text);
}

enum next { DRAW, ASK, QUIT };

static enum next handle_key(struct egs_top *top, int key)
{
	switch (key) {
	case 'q':
	case EGS_KEY_CLOSED:
		return QUIT;
	case ' ':
		return ASK;
	case 'w':
		top->sort = EGS_TOP_BY_WAIT;
		break;
	case 'g':
		top->sort = EGS_TOP_BY_GPUS;
		break;
	case 't':
		top->sort = EGS_TOP_BY_TEAM;
		break;
	case 'k':
	case EGS_KEY_UP:
		top->first_line--;
		break;
	case 'j':
	case EGS_KEY_DOWN:
		top->first_line++;
		break;
	case EGS_KEY_PAGE_UP:
		top->first_line -= PAGE_LINES;
		break;
	case EGS_KEY_PAGE_DOWN:
		top->first_line += PAGE_LINES;
		break;
	default:
		break;
	}
	return DRAW;
}

/* Draw until it is time to ask again, or a key says so.  The countdowns and the
 * age of the data change every second.
 */
static enum next wait_for_keys(struct egs_top *top)
{
	uint64_t until = egs_now_ms() + (uint64_t)top->delay_s * 1000;
	enum next next = DRAW;

	while (next == DRAW && egs_now_ms() < until) {
		uint64_t left = until - egs_now_ms();

		draw_screen(top);
		next = handle_key(top, egs_terminal_read_key(
					       left < 1000 ? (int)left : 1000));
	}
	return next;
}

static int run_screen(struct egs_top *top, const struct egsctl_options *ctl)
{
	struct egs_err err;

	if (egs_terminal_open(&err) < 0)
		return egsctl_print_error(&err);
	do
		ask_daemon(top, ctl);
	while (wait_for_keys(top) != QUIT);
	egs_terminal_close();
	return EGSCTL_DONE;
}

static int run_once(struct egs_top *top, const struct egsctl_options *ctl)
{
	struct egs_canvas c = { .rows = 0 };
	struct egs_err err = { "out of memory" };
	int code = ask_daemon(top, ctl), rows;

	if (code != EGSCTL_DONE) {
		egsctl_print_error(&top->trouble);
		return code;
	}
	egs_terminal_get_size(&c.width, &rows);
	egs_top_draw(top, &c, time(NULL));
	if (c.text.failed ||
	    fwrite(c.text.bytes, 1, c.text.used, stdout) != c.text.used ||
	    fflush(stdout) != 0)
		code = egsctl_print_error(&err);
	egs_buf_clear(&c.text);
	return code;
}

static int read_options(struct egs_top *top, const struct egsctl_options *ctl,
			struct egs_err *err)
{
	int sort = ctl->sort ? egs_top_parse_sort(ctl->sort) : 0;
	char *end = NULL;
	long delay = ctl->delay ? strtol(ctl->delay, &end, 10) : DELAY_S;

	if (sort < 0)
		return egs_errf(err, "--sort=%s is not wait, gpus or team",
				egs_printable(ctl->sort).text);
	if (delay < 1 || delay > DELAY_MAX_S || (end && *end))
		return egs_errf(err,
				"--delay=%s is not a number of seconds from 1 "
				"to %d",
				egs_printable(ctl->delay).text, DELAY_MAX_S);
	top->sort = (enum egs_top_sort)sort;
	top->delay_s = (int)delay;
	return 0;
}

int egsctl_run_top(const char *name, char **operands,
		   const struct egsctl_options *ctl)
{
	struct egs_top top = { .asked_at = 0 };
	struct egs_err err;
	int code;

	(void)name;
	if (operands[0]) {
		egs_errf(&err, "'%s' is one operand too many",
			 egs_printable(operands[0]).text);
		return egsctl_print_error(&err);
	}
	if (read_options(&top, ctl, &err) < 0)
		return egsctl_print_error(&err);
	code = ctl->once ? run_once(&top, ctl) : run_screen(&top, ctl);
	egs_top_clear(&top);
	return code;
}
