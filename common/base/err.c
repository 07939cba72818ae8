/* err.c - a failure is -1 and one sentence */
#include <stdarg.h>

#include "common/base/err.h"

int egs_errf(struct egs_err *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	egs_text_vformat(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	return -1;
}
