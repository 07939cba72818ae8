/* comment_json.c - hints in the comment of a job, as JSON
 *
 * A plugin loads no library into slurmctld, so this file reads the little JSON
 * it needs: skip a value, read a string.  It first skips the whole comment; a
 * comment that is not JSON to its end is plain text.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hint/comment_json.h"

enum { MAX_DEPTH = 16 };

/* One byte more than a value, so that a long string is refused later. */
#define WORD_SIZE (EGS_HINT_VALUE_MAX + 2)

static const char *skip_blanks(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

static const char *skip_value(const char *p, int depth);

/* Decode the escape at the '\' of '*p', and move '*p' to its last character.
 * A character that no hint can have becomes '?'.  0: not an escape.
 */
static char read_escape(const char **p)
{
	static const char typed[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
	const char *at = *p + 1;
	const char *found = *at ? strchr(typed, *at) : NULL;
	char digits[5] = "";
	unsigned long code;

	*p = at;
	if (found)
		return means[found - typed];
	if (*at != 'u')
		return 0;
	for (int i = 0; i < 4; i++) {
		if (!isxdigit((unsigned char)at[1 + i]))
			return 0;
		digits[i] = at[1 + i];
	}
	*p = at + 4;
	code = strtoul(digits, NULL, 16);
	return code > 0 && code < 0x80 ? (char)code : '?';
}

/* Read the string at 'p', as much as fits.  Returns the text behind it, or
 * NULL.
 */
static const char *read_string(const char *p, char word[WORD_SIZE])
{
	size_t len = 0;

	if (*p++ != '"')
		return NULL;
	for (; *p != '"'; p++) {
		char c = *p;

		if (c == '\\')
			c = read_escape(&p);
		else if ((unsigned char)c < ' ')
			return NULL;
		if (!c)
			return NULL;
		if (len < WORD_SIZE - 1)
			word[len++] = c;
	}
	word[len] = '\0';
	return p + 1;
}

/* Read the name of a member.  Returns its value, or NULL. */
static const char *read_member(const char *p, char name[WORD_SIZE])
{
	p = read_string(p, name);
	if (!p)
		return NULL;
	p = skip_blanks(p);
	return *p == ':' ? skip_blanks(p + 1) : NULL;
}

/* Skip an object or an array; only members of an object have names. */
static const char *skip_container(const char *p, char close, int depth)
{
	char name[WORD_SIZE];

	p = skip_blanks(p + 1);
	if (*p == close)
		return p + 1;
	for (;;) {
		p = close == '}' ? read_member(p, name) : p;
		p = p ? skip_value(p, depth + 1) : NULL;
		if (!p)
			return NULL;
		p = skip_blanks(p);
		if (*p == close)
			return p + 1;
		if (*p != ',')
			return NULL;
		p = skip_blanks(p + 1);
	}
}

/* Skip a number or true, false, null; these are not validated. */
static const char *skip_word(const char *p)
{
	size_t len = strspn(p, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");

	return len ? p + len : NULL;
}

static const char *skip_value(const char *p, int depth)
{
	char word[WORD_SIZE];

	if (depth > MAX_DEPTH)
		return NULL;
	switch (*p) {
	case '{':
		return skip_container(p, '}', depth);
	case '[':
		return skip_container(p, ']', depth);
	case '"':
		return read_string(p, word);
	default:
		return skip_word(p);
	}
}

/* The value of the next member of a valid object, NULL at the end.  '*p' is at
 * the opening brace or a comma, and moves behind the value.
 */
static const char *next_member(const char **p, char name[WORD_SIZE])
{
	const char *value;

	if (**p == '}' || *(value = skip_blanks(*p + 1)) == '}')
		return NULL;
	value = read_member(value, name);
	*p = skip_blanks(skip_value(value, 0));
	return value;
}

static int set_member(struct egs_hint *hint, const char *name,
		      const char *value, const struct egs_hint_site *site,
		      struct egs_err *err)
{
	char word[WORD_SIZE] = "";

	if (*value != '"' && strncmp(value, "true", 4) != 0)
		return egs_errf(err,
				"--comment: the value of '%s' in \"egs\" "
				"is not a string",
				egs_printable(name).text);
	if (*value == '"')
		read_string(value, word);
	return egs_hint_set(hint, name, word, site, err);
}

static int read_hint_object(struct egs_hint *hint, const char *p,
			    const struct egs_hint_site *site,
			    struct egs_err *err)
{
	char name[WORD_SIZE];
	const char *value;

	if (*p != '{')
		return egs_errf(err, "--comment: \"egs\" is not an object");
	while ((value = next_member(&p, name)))
		if (set_member(hint, name, value, site, err) < 0)
			return -1;
	return 0;
}

/* The object that is the whole comment; NULL: there is none. */
static const char *find_object(const char *comment)
{
	const char *p = skip_blanks(comment ? comment : "");
	const char *end = *p == '{' ? skip_value(p, 0) : NULL;

	return end && !*skip_blanks(end) ? p : NULL;
}

int egs_comment_json_read(struct egs_hint *hint, const char *comment,
			  const struct egs_hint_site *site, struct egs_err *err)
{
	const char *p = find_object(comment);
	struct egs_hint new = *hint;
	char name[WORD_SIZE];
	const char *value;

	if (!p)
		return 0;
	while ((value = next_member(&p, name)))
		if (!strcmp(name, "egs") &&
		    read_hint_object(&new, value, site, err) < 0)
			return -1;
	*hint = new;
	return 0;
}

/* Minutes as a number or a string; 0: neither. */
static uint32_t read_minutes(const char *value)
{
	char word[WORD_SIZE] = "";
	unsigned long minutes;
	char *end;

	if (*value == '"')
		read_string(value, word);
	else
		snprintf(word, sizeof(word), "%.*s",
			 (int)strspn(value, "0123456789"), value);
	minutes = strtoul(word, &end, 10);
	if (!isdigit((unsigned char)*word) || *end)
		return 0;
	return minutes < EGS_IDLE_OK_MAX_S / 60 ? (uint32_t)minutes
						: EGS_IDLE_OK_MAX_S / 60;
}

uint32_t egs_comment_json_get_idle_ok_s(const char *comment)
{
	const char *p = find_object(comment), *value, *inner;
	uint32_t minutes = 0;
	char name[WORD_SIZE];

	while (p && (value = next_member(&p, name))) {
		if (strcmp(name, "OccupiedIdleGPUsJobReaper") != 0 ||
		    *value != '{')
			continue;
		while ((inner = next_member(&value, name)))
			if (!strcmp(name, "exemptIdleTimeMins"))
				minutes = read_minutes(inner);
	}
	return minutes * 60;
}
