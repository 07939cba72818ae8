/* text.c - a line of text that is safe to print, whatever it quotes
 *
 * All functions here call copy_printable().  That function copies as many whole
 * characters as fit.  It replaces characters that a terminal or a log would
 * obey instead of show.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/text.h"
#include "common/base/utf8.h"

/* Does a terminal obey this character instead of showing it? */
static bool is_unprintable(uint32_t code)
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

/* Copy 'text' to 'buf' and clean it.  Returns the rest that did not fit, or an
 * empty string.  A '?' is never longer than the bytes it replaces, so 'buf' and
 * 'text' may be the same.
 */
static const char *copy_printable(char *buf, size_t size, const char *text)
{
	size_t used = 0;

	while (*text) {
		uint32_t code;
		size_t len = egs_utf8_decode(text, &code);
		bool bad = !len || is_unprintable(code);
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
static void drop_partial_char(char *text)
{
	size_t len = strlen(text);
	size_t at = len;
	uint32_t code;

	while (at > 0 && len - at < 3 && (text[at - 1] & 0xc0) == 0x80)
		at--;
	if (at > 0 && (text[at - 1] & 0x80) &&
	    !egs_utf8_decode(text + at - 1, &code))
		text[at - 1] = '\0';
}

void egs_text_vformat(char *buf, size_t size, const char *fmt, va_list ap)
{
	char text[EGS_TEXT_MAX];
	size_t room = size < sizeof(text) ? size : sizeof(text);
	int len = vsnprintf(text, room, fmt, ap);

	if (len < 0)
		snprintf(text, room, "%s", fmt);
	if (len >= (int)room)
		drop_partial_char(text);
	copy_printable(buf, size, text);
}

const char *egs_textf(struct egs_text *text, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	egs_text_vformat(text->text, sizeof(text->text), fmt, ap);
	va_end(ap);
	return text->text;
}

const char *egs_text_append(struct egs_text *text, const char *fmt, ...)
{
	const size_t used = strlen(text->text);
	va_list ap;

	va_start(ap, fmt);
	egs_text_vformat(text->text + used, sizeof(text->text) - used, fmt, ap);
	va_end(ap);
	return text->text;
}

struct egs_printable egs_printable(const char *value)
{
	struct egs_printable shown = { "" };
	const char *rest = copy_printable(shown.text, EGS_PRINTABLE_MAX + 1,
					  value ? value : "");

	if (*rest)
		memcpy(shown.text + strlen(shown.text), "...", 4);
	return shown;
}

void egs_make_printable(char *text)
{
	copy_printable(text, strlen(text) + 1, text);
}
