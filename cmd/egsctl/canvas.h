/* canvas.h - lines of text for a terminal or a pipe, each cut at the width
 *
 *	struct egs_canvas c = { .width = 80, .rows = 24, .is_screen = true };
 *
 *	egs_canvas_put_cell(&c, EGS_STYLE_BOLD, team, 11);
 *	egs_canvas_end_line(&c);
 *
 * Text is cleaned (common/base/text.h), so no name moves the cursor.  On a
 * screen each line ends with the code that clears its rest, and lines beyond
 * 'rows' are dropped.
 */
#ifndef EGS_EGSCTL_CANVAS_H
#define EGS_EGSCTL_CANVAS_H

#include "common/base/buf.h"

enum egs_style {
	EGS_STYLE_PLAIN,
	EGS_STYLE_BOLD,
	EGS_STYLE_REVERSE,
	EGS_STYLE_ALARM,
	/* Colours to tell teams apart; a number of teams may be added. */
	EGS_STYLE_COLOUR,
	EGS_STYLE_END = EGS_STYLE_COLOUR + 6
};

struct egs_canvas {
	int width, rows; /* rows of 0: no limit */
	bool is_screen;	 /* with escape codes */
	struct egs_buf text;
	int column, row; /* where the next character goes */
};

/* Add text to the line. */
__attribute__((format(printf, 3, 4))) void egs_canvas_put(struct egs_canvas *c,
							  enum egs_style style,
							  const char *fmt, ...);

/* Add text in a column of 'width' characters: cut so that a space follows, or
 * filled with spaces.
 */
void egs_canvas_put_cell(struct egs_canvas *c, enum egs_style style,
			 const char *text, int width);

/* Add a byte 'n' times. */
void egs_canvas_fill(struct egs_canvas *c, enum egs_style style, char byte,
		     int n);

void egs_canvas_end_line(struct egs_canvas *c);

/* Rows that are left; a large number without a limit. */
int egs_canvas_rows_left(const struct egs_canvas *c);

#endif
