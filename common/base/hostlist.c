/* hostlist.c - lists of names with numbers in brackets */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hostlist.h"

enum {
	NAME_SIZE = 256,
	DIGITS_MAX = 9, /* of a number in brackets */
};

/* The length of the element at 'text', which ends at a comma outside brackets.
 */
static size_t element_len(const char *text)
{
	bool inside = false;
	size_t len = 0;

	for (; text[len] && (inside || text[len] != ','); len++)
		inside = text[len] == '[' || (inside && text[len] != ']');
	return len;
}

/* A "7" or "0-2" in brackets. */
struct number_range {
	unsigned long first, last;
	int width; /* digits of the first number */
};

/* Read a range.  Returns its end. */
static const char *read_range(const char *p, struct number_range *range)
{
	char *end;

	range->first = range->last = strtoul(p, &end, 10);
	range->width = (int)(end - p);
	if (*end == '-')
		range->last = strtoul(end + 1, &end, 10);
	return end;
}

/* ---- all names ---- */

/* Call 'fn' with each name of the first 'len' bytes of 'text'. */
static int expand_brackets(const char *text, size_t len,
			   int (*fn)(void *arg, const char *name), void *arg)
{
	const char *open = memchr(text, '[', len);
	const char *p = open ? open + 1 : NULL, *close;
	struct number_range range;
	char name[NAME_SIZE];
	int rc = 0;

	close = open ? memchr(open, ']', len - (size_t)(open - text)) : NULL;
	if (!close) {
		snprintf(name, sizeof(name), "%.*s", (int)len, text);
		return fn(arg, name);
	}
	while (rc == 0 && p < close && isdigit((unsigned char)*p)) {
		p = read_range(p, &range);
		if (range.last > range.first + EGS_HOSTLIST_NAMES_MAX)
			return 0;
		for (; rc == 0 && range.first <= range.last; range.first++) {
			snprintf(name, sizeof(name), "%.*s%0*lu%.*s",
				 (int)(open - text), text, range.width,
				 range.first, (int)(text + len - close - 1),
				 close + 1);
			rc = expand_brackets(name, strlen(name), fn, arg);
		}
		p += *p == ',';
	}
	return rc;
}

int egs_hostlist_each(const char *text, int (*fn)(void *arg, const char *name),
		      void *arg)
{
	int rc = 0;

	while (rc == 0 && *text) {
		size_t len = element_len(text);

		if (len > 0)
			rc = expand_brackets(text, len, fn, arg);
		text += len + (text[len] == ',');
	}
	return rc;
}

/* ---- one name ---- */

/* Are the first 'len' digits of 'name' a number of the bracket "1-4,7"? */
static bool bracket_has(const char *p, const char *close, const char *name,
			size_t len)
{
	struct number_range range;
	char digits[DIGITS_MAX + 1];
	unsigned long number;

	snprintf(digits, sizeof(digits), "%.*s", (int)len, name);
	number = strtoul(digits, NULL, 10);
	while (p < close && isdigit((unsigned char)*p)) {
		p = read_range(p, &range);
		if (number >= range.first && number <= range.last &&
		    (len == (size_t)range.width ||
		     (len > (size_t)range.width && *name != '0')))
			return true;
		p += *p == ',';
	}
	return false;
}

/* Does the pattern of an element match the whole name? */
static bool element_matches(const char *p, const char *end, const char *name)
{
	for (; p < end && *p != '['; p++, name++)
		if (*p != *name)
			return false;
	if (p == end)
		return !*name;
	for (size_t len = 1; len <= DIGITS_MAX; len++) {
		const char *close = memchr(p, ']', (size_t)(end - p));

		if (!close || !isdigit((unsigned char)name[len - 1]))
			return false;
		if (bracket_has(p + 1, close, name, len) &&
		    element_matches(close + 1, end, name + len))
			return true;
	}
	return false;
}

bool egs_hostlist_has(const char *text, const char *name)
{
	while (*text) {
		size_t len = element_len(text);

		if (len > 0 && element_matches(text, text + len, name))
			return true;
		text += len + (text[len] == ',');
	}
	return false;
}

/* ---- check ---- */

/* The end of the range at 'p', which is ',' or ']'.  NULL: it is no range. */
static const char *skip_range(const char *p)
{
	size_t digits = strspn(p, "0123456789");

	if (digits && digits <= DIGITS_MAX && p[digits] == '-') {
		p += digits + 1;
		digits = strspn(p, "0123456789");
	}
	if (!digits || digits > DIGITS_MAX)
		return NULL;
	p += digits;
	return *p == ',' || *p == ']' ? p : NULL;
}

/* Check the bracket behind '['.  Returns its ']', with its names added to
 * '*names', or NULL with 'err' set.
 */
static const char *check_bracket(const char *p, unsigned long *names,
				 struct egs_err *err)
{
	struct number_range range;

	if (!strchr(p, ']')) {
		egs_errf(err, "has a '[' without ']'");
		return NULL;
	}
	for (;;) {
		const char *end = skip_range(p);

		if (!end) {
			egs_errf(err, "has brackets with something else than "
				      "numbers; write n[1-4,7]");
			return NULL;
		}
		read_range(p, &range);
		if (range.last < range.first) {
			egs_errf(err,
				 "has the range %lu-%lu, which is out of order",
				 range.first, range.last);
			return NULL;
		}
		*names += range.last - range.first + 1;
		if (*end == ']')
			return end;
		p = end + 1;
	}
}

/* Check an element, and add the number of its names to '*total'. */
static int check_element(const char *p, size_t len, unsigned long *total,
			 struct egs_err *err)
{
	const char *end = p + len;
	unsigned long product = 1;

	if (!len)
		return egs_errf(err, "has an empty entry");
	if (len >= NAME_SIZE)
		return egs_errf(err, "has an entry of more than %d bytes",
				NAME_SIZE - 1);
	for (; p < end; p++) {
		unsigned long names = 0;

		if (*p == ']')
			return egs_errf(err, "has a ']' without '['");
		if (*p != '[')
			continue;
		p = check_bracket(p + 1, &names, err);
		if (!p)
			return -1;
		product *= names;
		if (product > EGS_HOSTLIST_NAMES_MAX)
			break;
	}
	*total += product;
	return *total <= EGS_HOSTLIST_NAMES_MAX
		       ? 0
		       : egs_errf(err, "names more than %d nodes",
				  EGS_HOSTLIST_NAMES_MAX);
}

int egs_hostlist_check(const char *text, struct egs_err *err)
{
	unsigned long total = 0;

	for (;;) {
		size_t len = element_len(text);

		if (check_element(text, len, &total, err) < 0)
			return -1;
		text += len;
		if (!*text++)
			return 0;
	}
}
