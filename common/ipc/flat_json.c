/* flat_json.c - JSON objects of one level, without a library
 *
 * A string is unescaped in place, because that never makes it longer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/ipc/flat_json.h"

/* ---- writing ---- */

static void append_text(struct egs_flat_json *f, const char *text, size_t len)
{
	/* Leave one byte for the closing brace. */
	if (f->failed || f->len + len >= sizeof(f->text) - 1) {
		f->failed = true;
		return;
	}
	memcpy(f->text + f->len, text, len);
	f->len += len;
	f->text[f->len] = '\0';
}

static void append_key(struct egs_flat_json *f, const char *key)
{
	append_text(f, f->len ? ",\"" : "{\"", 2);
	append_text(f, key, strlen(key));
	append_text(f, "\":", 2);
}

static void append_escaped(struct egs_flat_json *f, uint32_t code)
{
	char text[8];

	snprintf(text, sizeof(text), "\\u%04x", (unsigned int)code);
	append_text(f, text, strlen(text));
}

void egs_flat_json_add_str(struct egs_flat_json *f, const char *key,
			   const char *value)
{
	uint32_t code;

	if (!value)
		return;
	append_key(f, key);
	append_text(f, "\"", 1);
	while (*value) {
		size_t len = egs_utf8_decode(value, &code);

		if (!len)
			append_text(f, "?", 1);
		else if (code >= ' ' && code != '"' && code != '\\')
			append_text(f, value, len);
		else
			append_escaped(f, code);
		value += len ? len : 1;
	}
	append_text(f, "\"", 1);
}

void egs_flat_json_add_int(struct egs_flat_json *f, const char *key,
			   int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	append_key(f, key);
	append_text(f, text, strlen(text));
}

const char *egs_flat_json_end(struct egs_flat_json *f)
{
	if (f->failed)
		return NULL;
	memcpy(f->text + f->len, f->len ? "}" : "{}", f->len ? 2 : 3);
	f->len += f->len ? 1 : 2;
	return f->text;
}

/* ---- reading ---- */

static void skip_space(char **at)
{
	*at += strspn(*at, " \t\r\n");
}

static int read_hex4(const char *at, uint32_t *code)
{
	char digits[5] = "";

	memcpy(digits, at, strnlen(at, 4));
	return strspn(digits, "0123456789abcdefABCDEF") == 4 &&
			       sscanf(digits, "%" SCNx32, code) == 1
		       ? 0
		       : -1;
}

static char *write_utf8(char *to, uint32_t c)
{
	static const unsigned char first[] = { 0, 0xc0, 0xe0, 0xf0 };
	int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;

	*to++ = (char)(first[more] | c >> 6 * more);
	while (more-- > 0)
		*to++ = (char)(0x80 | (c >> 6 * more & 0x3f));
	return to;
}

/* Read the four digits after \u, and the second half of a surrogate pair. */
static int read_code_point(char **at, uint32_t *code)
{
	uint32_t low;

	if (read_hex4(*at, code) < 0 || *code == 0)
		return -1;
	*at += 4;
	if (*code < 0xd800 || *code > 0xdfff)
		return 0;
	if (strncmp(*at, "\\u", 2) != 0 || read_hex4(*at + 2, &low) < 0 ||
	    *code > 0xdbff || low < 0xdc00 || low > 0xdfff)
		return -1;
	*at += 6;
	*code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
	return 0;
}

static int read_escape(char **at, char **to)
{
	static const char names[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
	const char *name;
	uint32_t code;

	if (**at == 'u') {
		++*at;
		if (read_code_point(at, &code) < 0)
			return -1;
		*to = write_utf8(*to, code);
		return 0;
	}
	name = **at ? strchr(names, **at) : NULL;
	if (!name)
		return -1;
	*(*to)++ = means[name - names];
	++*at;
	return 0;
}

/* Read the string that begins at '*at', and move '*at' to its end.  NULL: it is
 * not a string.
 */
static char *read_string(char **at)
{
	char *start = ++*at, *to = start;

	while (**at && **at != '"') {
		if (**at != '\\') {
			*to++ = *(*at)++;
			continue;
		}
		++*at;
		if (read_escape(at, &to) < 0)
			return NULL;
	}
	if (!**at)
		return NULL;
	++*at;
	*to = '\0';
	return start;
}

/* Skip a list or an object. */
static int skip_nested(char **at)
{
	int depth = 0;

	do {
		if (**at == '"') {
			if (!read_string(at))
				return -1;
			continue;
		}
		if (!**at)
			return -1;
		depth += **at == '{' || **at == '[';
		depth -= **at == '}' || **at == ']';
		++*at;
	} while (depth > 0);
	return 0;
}

/* Read a value: '*value' is its text, which the caller must end at '*end'. */
static int read_value(char **at, char **value, char **end)
{
	*value = *end = NULL;
	if (**at == '{' || **at == '[')
		return skip_nested(at);
	if (**at == '"') {
		*value = read_string(at);
		return *value ? 0 : -1;
	}
	*value = *at;
	*at += strcspn(*at, ",} \t\r\n");
	*end = *at;
	return *at > *value ? 0 : -1;
}

int egs_flat_json_each(char *text, egs_flat_json_fn *fn, void *arg)
{
	char *at = text, *key, *value, *end;
	char next;

	skip_space(&at);
	if (*at != '{')
		return -1;
	do {
		at++;
		skip_space(&at);
		if (*at == '}')
			return 0;
		key = *at == '"' ? read_string(&at) : NULL;
		skip_space(&at);
		if (!key || *at != ':')
			return -1;
		at++;
		skip_space(&at);
		if (read_value(&at, &value, &end) < 0)
			return -1;
		skip_space(&at);
		next = *at;
		if (end)
			*end = '\0';
		fn(arg, key, value);
	} while (next == ',');
	return next == '}' ? 0 : -1;
}
