/* text.h - one line of text that is safe to print, whatever it quotes
 *
 * A reason, a label or a line of a report is a struct egs_text.  A failure is a
 * struct egs_err (err.h).  Both have the same rules.  The text ends in a NUL.
 * A text that does not fit is cut between two characters.  Control characters,
 * characters that change the direction of text, and bytes that are not UTF-8
 * become '?'.
 */
#ifndef EGS_BASE_TEXT_H
#define EGS_BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>

#define EGS_TEXT_MAX	  512
#define EGS_PRINTABLE_MAX 64

/* All zero is an empty text. */
struct egs_text {
	char text[EGS_TEXT_MAX];
};

/* Replace the text; an argument may point into it.  Returns 'text->text'. */
__attribute__((format(printf, 2, 3))) const char *
egs_textf(struct egs_text *text, const char *fmt, ...);

/* Append to the text; an argument may point into it.  Returns 'text->text'. */
__attribute__((format(printf, 2, 3))) const char *
egs_text_append(struct egs_text *text, const char *fmt, ...);

/* Format into a buffer of at most EGS_TEXT_MAX bytes, with the same rules. */
__attribute__((format(printf, 3, 0))) void
egs_text_vformat(char *buf, size_t size, const char *fmt, va_list ap);

/* A value from outside that is safe to show: printable, and at most
 * EGS_PRINTABLE_MAX bytes before an ellipsis.  NULL is shown as nothing.  Use
 * it in place, because the text lives until the end of the statement:
 *
 *	return egs_errf(err, "'%s' is not a key", egs_printable(key).text);
 */
struct egs_printable {
	char text[EGS_PRINTABLE_MAX + sizeof("...")];
};

struct egs_printable egs_printable(const char *value);

/* Make all of 'text' printable in place. */
void egs_make_printable(char *text);

#endif
