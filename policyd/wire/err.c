/* err.c - sentences about failures, safe to print whatever is quoted in them
 *
 * Everything here goes through clean(): it copies as many whole characters as
 * fit and replaces those a terminal or a log would obey instead of show.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "policyd/core/array.h"
#include "policyd/wire/err.h"

/* Decode the character at 's'; its length, or 0 if it is not UTF-8.  Reads no
 * further than the NUL, since a NUL is no continuation byte.
 */
static size_t decode(const unsigned char *s, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = s[0] < 0x80   ? 1
		     : s[0] < 0xc2 ? 0
		     : s[0] < 0xe0 ? 2
		     : s[0] < 0xf0 ? 3
		     : s[0] < 0xf5 ? 4
				   : 0;

	if (len < 2) {
		*code = s[0];
		return len;
	}
	*code = s[0] & (0x7fU >> len);
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (s[i] & 0x3f);
	}
	if (*code < least[len] || *code > 0x10ffff ||
	    (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return len;
}

/* What a terminal would obey instead of show. */
static bool obeyed(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x00, 0x1f },	    /* C0: newline, escape */
		{ 0x7f, 0x9f },	    /* DEL and C1 */
		{ 0x061c, 0x061c }, /* Arabic letter mark */
		{ 0x200b, 0x200f }, /* zero width, direction marks */
		{ 0x2028, 0x202e }, /* line separators, embeddings, overrides */
		{ 0x2060, 0x206f }, /* invisible, isolates */
		{ 0xfeff, 0xfeff }, /* byte order mark */
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

/* Copy 'text' to 'buf' and clean it.  Returns the rest that did not fit, which
 * is empty when all of it did.  A '?' is never longer than what it stands for,
 * so 'buf' and 'text' may be the same.
 */
static const char *clean(char *buf, size_t size, const char *text)
{
	size_t used = 0;

	while (*text) {
		uint32_t code;
		size_t len = decode((const unsigned char *)text, &code);
		bool bad = !len || obeyed(code);
		size_t out = bad ? 1 : len;

		if (used + out >= size)
			break;
		if (bad)
			buf[used] = '?';
		else
			memmove(buf + used, text, len);
		used += out;
		text += len ? len : 1;
	}
	buf[used] = '\0';
	return text;
}

/* A cut by vsnprintf() may have left half a character at the end: drop it. */
static void drop_half(char *text)
{
	size_t len = strlen(text);
	size_t at = len;
	uint32_t code;

	while (at > 0 && len - at < 3 && (text[at - 1] & 0xc0) == 0x80)
		at--;
	if (at > 0 && (text[at - 1] & 0x80) &&
	    !decode((unsigned char *)text + at - 1, &code))
		text[at - 1] = '\0';
}

int egs_errf(struct egs_err *err, const char *fmt, ...)
{
	struct egs_err new;
	va_list ap;
	int len;

	if (!err)
		return -1;
	va_start(ap, fmt);
	len = vsnprintf(new.msg, sizeof(new.msg), fmt, ap);
	va_end(ap);
	if (len < 0)
		snprintf(new.msg, sizeof(new.msg), "%s", fmt);
	if (len >= (int)sizeof(new.msg))
		drop_half(new.msg);
	clean(err->msg, sizeof(err->msg), new.msg);
	return -1;
}

struct egs_shown egs_show(const char *value)
{
	struct egs_shown shown = { "" };
	const char *rest =
		clean(shown.text, EGS_SHOWN_MAX + 1, value ? value : "");

	if (*rest)
		memcpy(shown.text + strlen(shown.text), "...", 4);
	return shown;
}
