/* err.h - a failure is -1 and one sentence
 *
 * Libraries return the sentence and never print it.  The caller that owns the
 * terminal or the log prints it once.  The sentence names the thing, the value
 * and the limit.  Text that is not an error is a struct egs_text (text.h).
 */
#ifndef EGS_BASE_ERR_H
#define EGS_BASE_ERR_H

#include "common/base/text.h"

#define EGS_ERR_MAX EGS_TEXT_MAX

struct egs_err {
	char msg[EGS_ERR_MAX];
};

/* Write the sentence and return -1.  'err' may be NULL if the caller does not
 * need it.  The result is one line of printable text (text.h).  An argument may
 * point into 'err->msg', so a caller can put words in front of the sentence.
 */
__attribute__((format(printf, 2, 3))) int egs_errf(struct egs_err *err,
						   const char *fmt, ...);

#endif
