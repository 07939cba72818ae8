/* log.c - lines for the person on call, on stderr */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/text.h"

__attribute__((format(printf, 2, 0))) static void
write_line(const char *level, const char *fmt, va_list ap)
{
	char text[EGS_TEXT_MAX], when[32] = "";
	time_t now = time(NULL);
	struct tm tm;

	egs_text_vformat(text, sizeof(text), fmt, ap);
	if (localtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	fprintf(stderr, "%s %s%s\n", when, level, text);
}

void egs_log_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	write_line("", fmt, ap);
	va_end(ap);
}

void egs_log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	write_line("warning: ", fmt, ap);
	va_end(ap);
}

void egs_log_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	write_line("error: ", fmt, ap);
	va_end(ap);
}
