/* tap.h - what a unit program needs to speak TAP to prove
 *
 *	#include "t/lib/unit/tap.h"
 *
 *	int main(void)
 *	{
 *		plan_none();
 *		ok(1 + 1 == 2, "one and one is %d", 2);
 *		is_int(answer(), 42, "the answer");
 *		is_str(name(), "egs", "the name");
 *		return done_testing();
 *	}
 *
 * plan_none()		first call of main(): the plan comes at the end, and
 *			lines leave at once, so a crash loses none of them
 * ok(cond, fmt, ...)	one test; the words say what holds when it passes
 * is_int(got, want, fmt, ...)	the same, and a failure shows both numbers
 * is_str(got, want, fmt, ...)	the same for strings; NULL equals only NULL
 * note(fmt, ...)	a line for the reader of a failure
 * done_testing()	prints the plan; its value is the exit code of main()
 *
 * Each check returns whether it passed.  One program is one file, so the
 * counters live here; nothing of this is meant to be linked into anything else.
 */
#ifndef EGS_TAP_H
#define EGS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static struct {
	int run;
	int failed;
} tap;

static inline void plan_none(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
}

__attribute__((format(printf, 1, 2))) static inline void note(const char *fmt,
							      ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("# ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
}

__attribute__((format(printf, 4, 0))) static inline bool
tap_line(bool pass, const char *file, int line, const char *fmt, va_list ap)
{
	tap.run++;
	printf("%sok %d - ", pass ? "" : "not ", tap.run);
	vprintf(fmt, ap);
	printf("\n");
	if (!pass) {
		tap.failed++;
		note("at %s:%d", file, line);
	}
	return pass;
}

__attribute__((format(printf, 4, 5))) static inline void
tap_ok(bool pass, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_line(pass, file, line, fmt, ap);
	va_end(ap);
}

__attribute__((format(printf, 5, 6))) static inline bool
tap_is_int(intmax_t got, intmax_t want, const char *file, int line,
	   const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!tap_line(got == want, file, line, fmt, ap))
		note("got %jd, want %jd", got, want);
	va_end(ap);
	return got == want;
}

__attribute__((format(printf, 5, 6))) static inline bool
tap_is_str(const char *got, const char *want, const char *file, int line,
	   const char *fmt, ...)
{
	bool same = got && want ? !strcmp(got, want) : got == want;
	va_list ap;

	va_start(ap, fmt);
	if (!tap_line(same, file, line, fmt, ap)) {
		note(" got: %s", got ? got : "(null)");
		note("want: %s", want ? want : "(null)");
	}
	va_end(ap);
	return same;
}

/* Its value is the condition itself, so that whoever analyses a test sees
 * what holds behind "if (!ok(p != NULL, ...)) return".
 */
#define ok(cond, ...)                                              \
	__extension__({                                            \
		bool tap_pass = (cond);                            \
		tap_ok(tap_pass, __FILE__, __LINE__, __VA_ARGS__); \
		tap_pass;                                          \
	})
#define is_int(got, want, ...) \
	tap_is_int((got), (want), __FILE__, __LINE__, __VA_ARGS__)
#define is_str(got, want, ...) \
	tap_is_str((got), (want), __FILE__, __LINE__, __VA_ARGS__)

static inline int done_testing(void)
{
	printf("1..%d\n", tap.run);
	return tap.failed || !tap.run;
}

#endif
