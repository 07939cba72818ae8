/* err.h - a failure is -1 and one sentence
 *
 * Libraries pass the sentence up and never print it; whoever owns the terminal
 * or the log prints it, once.  It names the thing, the value and the limit.
 */
#ifndef EGS_BASE_ERR_H
#define EGS_BASE_ERR_H

#define EGS_ERR_MAX	  512
#define EGS_PRINTABLE_MAX 64

struct egs_err {
	char msg[EGS_ERR_MAX];
};

/* Write the sentence and return -1.  'err' may be NULL: nobody wants to know.
 * The result is always one line of printable text that ends in a NUL: what
 * does not fit is cut between two characters, and every control character,
 * every character that changes the direction of text and every byte that is
 * not UTF-8 is shown as '?'.  An argument may point into 'err->msg', so a
 * caller can put its own words in front of what it was told.
 */
__attribute__((format(printf, 2, 3))) int egs_errf(struct egs_err *err,
						   const char *fmt, ...);

/* A value somebody typed, fit to be shown: clean as above, and no longer than
 * EGS_PRINTABLE_MAX bytes before an ellipsis.  NULL is shown as nothing.  Use
 *it in place, the text lives until the end of the statement:
 *
 *	return egs_errf(err, "'%s' is not a key", egs_printable(key).text);
 */
struct egs_printable {
	char text[EGS_PRINTABLE_MAX + sizeof("...")];
};

struct egs_printable egs_printable(const char *value);

/* Clean 'text' in place, all of it. */
void egs_make_printable(char *text);

#endif
