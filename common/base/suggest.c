/* suggest.c - edit distance over short names */
#include <ctype.h>
#include <string.h>

#include "common/base/suggest.h"

enum { NAME_LEN_MAX = 32 }; /* of all names that are suggested */

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int lower_char(const char *s, size_t i)
{
	return tolower((unsigned char)s[i]);
}

/* Steps from 'a' to 'b', both at most NAME_LEN_MAX long: the textbook table,
 * row by row.  A swap of neighbours uses the row before the last.
 */
static size_t edit_distance(const char *a, size_t alen, const char *b,
			    size_t blen)
{
	size_t row[NAME_LEN_MAX + 1][NAME_LEN_MAX + 1];

	for (size_t j = 0; j <= blen; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= alen; i++) {
		row[i][0] = i;
		for (size_t j = 1; j <= blen; j++) {
			int same = lower_char(a, i - 1) == lower_char(b, j - 1);
			size_t best = row[i - 1][j - 1] + !same;

			best = min_size(best, row[i - 1][j] + 1);
			best = min_size(best, row[i][j - 1] + 1);
			if (i > 1 && j > 1 &&
			    lower_char(a, i - 1) == lower_char(b, j - 2) &&
			    lower_char(a, i - 2) == lower_char(b, j - 1))
				best = min_size(best, row[i - 2][j - 2] + 1);
			row[i][j] = best;
		}
	}
	return row[alen][blen];
}

const char *egs_suggest(const char *word, const char *const *names,
			size_t count)
{
	return egs_suggest_within(word, names, count,
				  strnlen(word, 4) <= 3 ? 1 : 2);
}

const char *egs_suggest_within(const char *word, const char *const *names,
			       size_t count, size_t steps)
{
	size_t len = strnlen(word, NAME_LEN_MAX + 1);
	size_t limit = steps;
	const char *best = NULL;

	if (!len || len > NAME_LEN_MAX)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t name_len = names[i] ? strlen(names[i]) : 0;
		size_t away;

		if (!name_len || name_len > NAME_LEN_MAX ||
		    name_len + limit < len || len + limit < name_len)
			continue;
		away = edit_distance(word, len, names[i], name_len);
		if (away > limit || (best && away == limit))
			continue;
		best = names[i];
		limit = away;
	}
	return best;
}

int egs_err_unknown_name(const char *word, const char *what,
			 const char *const *names, size_t count,
			 struct egs_err *err)
{
	const char *name = egs_suggest(word, names, count);
	struct egs_text list;
	struct egs_text meant = { "" };

	egs_textf(&list, "%s", count ? names[0] : "none");
	for (size_t i = 1; i < count; i++)
		egs_text_append(&list, ", %s", names[i]);
	if (name)
		egs_textf(&meant, "; did you mean '%s'?", name);
	return egs_errf(err, "is not %s %s%s (%ss: %s)",
			strchr("aeiou", what[0]) ? "an" : "a", what, meant.text,
			what, list.text);
}
