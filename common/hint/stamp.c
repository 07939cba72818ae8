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
static const char *find_next_word(const char *s, size_t *len)
{
	s += strspn(s, SPACE);
	*len = strcspn(s, SPACE);
	return *len ? s : NULL;
}

static bool is_marked(const char *word, size_t len)
{
	return len >= MARK_LEN && !memcmp(word, MARK, MARK_LEN);
}

/* The next word at or after 's' that carries the mark. */
static const char *find_next_marked(const char *s, size_t *len)
{
	const char *word = find_next_word(s, len);

	while (word && !is_marked(word, *len))
		word = find_next_word(word + *len, len);
	return word;
}

int egs_stamp_format(const struct egs_stamp *stamp, char *buf, size_t size)
{
	char hint[EGS_HINT_MAX + 1], signal[EGS_SAVE_SIGNAL_MAX + 1] = "";
	int len = egs_hint_format(&stamp->hint, hint, sizeof(hint));

	if (stamp->own_signal.number)
		egs_save_signal_format(&stamp->own_signal, signal,
				       sizeof(signal));
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
static int parse_part(const char *part, struct egs_stamp *stamp)
{
	static const struct egs_hint_site any = { .any_phase = true };

	if (!strncmp(part, ID, ID_LEN)) {
		stamp->nonce = strtoull(part + ID_LEN, NULL, 16);
		return 0;
	}
	if (!strncmp(part, SIG, SIG_LEN))
		return egs_save_signal_parse(part + SIG_LEN, &stamp->own_signal,
					     NULL);
	return egs_hint_parse(&stamp->hint, part, &any, NULL);
}

/* Take 'word' apart as loosely as is easy; what was read counts only if it is
 * written again as the very same bytes.
 */
static int parse_word(const char *word, size_t len, struct egs_stamp *stamp)
{
	char text[EGS_STAMP_MAX + 1], again[EGS_STAMP_MAX + 1];
	struct egs_stamp new = { .nonce = 0 };
	char *next = text + MARK_LEN;

	if (len > EGS_STAMP_MAX)
		return -1;
	memcpy(text, word, len);
	text[len] = '\0';
	while (next)
		if (parse_part(strsep(&next, ";"), &new) < 0)
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
	const char *word = comment ? find_next_marked(comment, &len) : NULL;

	for (; word; word = find_next_marked(word + len, &len))
		if (parse_word(word, len, stamp) == 0)
			return 0;
	return -1;
}

/* Copy 'from' up to 'end' behind 'to'; where the copy ends. */
static char *copy_range(char *to, const char *from, const char *end)
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

	while ((word = find_next_marked(rest, &len))) {
		const char *end = word;

		while (end > rest && strchr(SPACE, end[-1]))
			end--;
		to = copy_range(to, rest, end);
		rest = word + len;
	}
	return copy_range(to, rest, rest + strlen(rest));
}

char *egs_stamp_insert(const char *comment, const struct egs_stamp *stamp)
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
	word = find_next_marked(comment, &len);
	end = word ? word : comment + strlen(comment);
	to = copy_range(to, comment, end);
	if (to > out && !strchr(SPACE, to[-1]))
		*to++ = ' ';
	to = copy_range(to, token, token + strlen(token));
	*copy_unmarked(to, end + len) = '\0';
	return out;
}
