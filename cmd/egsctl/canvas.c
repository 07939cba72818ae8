/* canvas.c - lines of text for a terminal or a pipe */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmd/egsctl/canvas.h"
#include "common/base/text.h"

static void put_bytes(struct egs_canvas *c, const char *bytes, size_t n)
{
	char *to = egs_buf_reserve(&c->text, n);

	if (!to)
		return;
	memcpy(to, bytes, n);
	c->text.used += n;
}

static void put_code(struct egs_canvas *c, const char *code)
{
	if (c->is_screen)
		put_bytes(c, code, strlen(code));
}

static bool is_full(const struct egs_canvas *c)
{
	return c->rows && c->row >= c->rows;
}

/* Put whole characters until the line is full. */
static void put_cut(struct egs_canvas *c, const char *text)
{
	while (*text && c->column < c->width) {
		size_t n = 1;

		while ((text[n] & 0xc0) == 0x80)
			n++;
		put_bytes(c, text, n);
		text += n;
		c->column++;
	}
}

static void put_styled(struct egs_canvas *c, enum egs_style style,
		       const char *text)
{
	static const char *const codes[EGS_STYLE_END] = {
		[EGS_STYLE_BOLD] = "\033[1m",
		[EGS_STYLE_REVERSE] = "\033[7m",
		[EGS_STYLE_ALARM] = "\033[1;31m",
		[EGS_STYLE_COLOUR] = "\033[36m",
		[EGS_STYLE_COLOUR + 1] = "\033[33m",
		[EGS_STYLE_COLOUR + 2] = "\033[32m",
		[EGS_STYLE_COLOUR + 3] = "\033[35m",
		[EGS_STYLE_COLOUR + 4] = "\033[34m",
		[EGS_STYLE_COLOUR + 5] = "\033[31m",
	};

	if (is_full(c))
		return;
	if (codes[style])
		put_code(c, codes[style]);
	put_cut(c, text);
	if (codes[style])
		put_code(c, "\033[0m");
}

void egs_canvas_put(struct egs_canvas *c, enum egs_style style, const char *fmt,
		    ...)
{
	char text[EGS_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	egs_text_vformat(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_styled(c, style, text);
}

void egs_canvas_put_cell(struct egs_canvas *c, enum egs_style style,
			 const char *text, int width)
{
	int end = c->column + width, line = c->width;

	c->width = end - 1 < line ? end - 1 : line;
	egs_canvas_put(c, style, "%s", text);
	c->width = line;
	egs_canvas_fill(c, EGS_STYLE_PLAIN, ' ', end - c->column);
}

void egs_canvas_fill(struct egs_canvas *c, enum egs_style style, char byte,
		     int n)
{
	const char text[] = { byte, '\0' };

	while (n-- > 0 && c->column < c->width)
		put_styled(c, style, text);
}

void egs_canvas_end_line(struct egs_canvas *c)
{
	if (is_full(c))
		return;
	put_code(c, "\033[K");
	/* A newline after the last row would move all rows up. */
	if (!c->rows || c->row + 1 < c->rows)
		put_bytes(c, c->is_screen ? "\r\n" : "\n", 1 + c->is_screen);
	c->row++;
	c->column = 0;
}

int egs_canvas_rows_left(const struct egs_canvas *c)
{
	return c->rows ? c->rows - c->row : INT_MAX;
}
