/* stamp.c - the one marked word in a job's AdminComment */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hint/stamp.h"

#define MARK  "egs:1;"
#define ID    "id="
#define SIG   "sig="
#define SPACE " \t\r\n\v\f"

enum {
	MARK_LEN = sizeof(MARK) - 1,
	ID_LEN = sizeof(ID) - 1,
	SIG_LEN = sizeof(SIG) - 1,
};

/* The next word at or after 's', with its length; NULL if there is none. */
static const char *next_word(const char *s, size_t *len)
{
	s += strspn(s, SPACE);
	*len = strcspn(s, SPACE);
	return *len ? s : NULL;
}

static bool marked(const char *word, size_t len)
{
	return len >= MARK_LEN && !memcmp(word, MARK, MARK_LEN);
}

/* The next word at or after 's' that carries the mark. */
static const char *next_marked(const char *s, size_t *len)
{
	const char *word = next_word(s, len);

	while (word && !marked(word, *len))
		word = next_word(word + *len, len);
	return word;
}

int egs_stamp_format(const struct egs_stamp *stamp, char *buf, size_t size)
{
	char hint[EGS_HINT_MAX + 1], signal[EGS_SIGNAL_MAX + 1] = "";
	int len = egs_hint_format(&stamp->hint, hint, sizeof(hint));

	if (stamp->signal.number)
		egs_signal_write(&stamp->signal, signal, sizeof(signal));
	if (len >= 0)
		len = snprintf(buf, size, MARK "%s%s%s%s%s" ID "%016" PRIx64,
			       hint, *hint ? ";" : "", *signal ? SIG : "",
			       signal, *signal ? ";" : "", stamp->nonce);
	if (len >= 0 && (size_t)len < size)
		return len;
	if (size > 0)
		buf[0] = '\0';
	return -1;
}

/* One part of the word, between two semicolons. */
static int read_part(const char *part, struct egs_stamp *stamp)
{
	static const struct egs_hint_site any = { .any_phase = true };

	if (!strncmp(part, ID, ID_LEN)) {
		stamp->nonce = strtoull(part + ID_LEN, NULL, 16);
		return 0;
	}
	if (!strncmp(part, SIG, SIG_LEN))
		return egs_signal_read(part + SIG_LEN, &stamp->signal, NULL);
	return egs_hint_parse(&stamp->hint, part, &any, NULL);
}

/* Take 'word' apart as loosely as is easy; what was read counts only if it is
 * written again as the very same bytes.
 */
static int read_word(const char *word, size_t len, struct egs_stamp *stamp)
{
	char text[EGS_STAMP_MAX + 1], again[EGS_STAMP_MAX + 1];
	struct egs_stamp new = { .nonce = 0 };
	char *next = text + MARK_LEN;

	if (len > EGS_STAMP_MAX)
		return -1;
	memcpy(text, word, len);
	text[len] = '\0';
	while (next)
		if (read_part(strsep(&next, ";"), &new) < 0)
			return -1;
	if (egs_stamp_format(&new, again, sizeof(again)) != (int)len ||
	    memcmp(again, word, len) != 0)
		return -1;
	*stamp = new;
	return 0;
}

int egs_stamp_find(const char *comment, struct egs_stamp *stamp)
{
	size_t len = 0;
	const char *word = comment ? next_marked(comment, &len) : NULL;

	for (; word; word = next_marked(word + len, &len))
		if (read_word(word, len, stamp) == 0)
			return 0;
	return -1;
}

/* Copy 'from' up to 'end' behind 'to'; where the copy ends. */
static char *copy(char *to, const char *from, const char *end)
{
	memcpy(to, from, (size_t)(end - from));
	return to + (end - from);
}

/* Copy 'rest' behind 'to' without its marked words and the white space in
 * front of each.
 */
static char *copy_unmarked(char *to, const char *rest)
{
	size_t len;
	const char *word;

	while ((word = next_marked(rest, &len))) {
		const char *end = word;

		while (end > rest && strchr(SPACE, end[-1]))
			end--;
		to = copy(to, rest, end);
		rest = word + len;
	}
	return copy(to, rest, rest + strlen(rest));
}

char *egs_stamp_put(const char *comment, const struct egs_stamp *stamp)
{
	char token[EGS_STAMP_MAX + 1];
	size_t len = 0;
	const char *word, *end;
	char *out, *to;

	if (!comment)
		comment = "";
	if (egs_stamp_format(stamp, token, sizeof(token)) < 0)
		return NULL;
	out = to = malloc(strlen(comment) + 1 + strlen(token) + 1);
	if (!out)
		return NULL;
	word = next_marked(comment, &len);
	end = word ? word : comment + strlen(comment);
	to = copy(to, comment, end);
	if (to > out && !strchr(SPACE, to[-1]))
		*to++ = ' ';
	to = copy(to, token, token + strlen(token));
	*copy_unmarked(to, end + len) = '\0';
	return out;
}
