/* msg.c - messages as JSON; the only user of json-c
 *
 * Of several equal keys json-c uses the last, and it cuts a key at a NUL.  Its
 * strict mode accepts keys in single quotes, and in 0.18 rejects characters
 * beyond ASCII.  So the text is checked here before json-c parses it.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/ipc/msg.h"

struct egs_msg {
	struct json_object *root;
	struct json_object *rows, *row; /* of the table being written */
	char *raw_text;			/* egs_msg_set_raw() */
	size_t raw_len;
	bool failed;
};

static struct egs_msg *wrap_json(struct json_object *root)
{
	struct egs_msg *msg = root ? calloc(1, sizeof(*msg)) : NULL;

	if (msg)
		msg->root = root;
	else
		json_object_put(root);
	return msg;
}

struct egs_msg *egs_msg_new(void)
{
	return wrap_json(json_object_new_object());
}

void egs_msg_free(struct egs_msg *msg)
{
	if (!msg)
		return;
	json_object_put(msg->root);
	free(msg->raw_text);
	free(msg);
}

void egs_msg_replace(struct egs_msg *msg, struct egs_msg *other)
{
	struct egs_msg was = *msg;

	*msg = *other;
	*other = was;
	egs_msg_free(other);
}

void egs_msg_set_raw(struct egs_msg *msg, char *text, size_t len)
{
	free(msg->raw_text);
	msg->raw_text = text;
	msg->raw_len = len;
}

/* Outside of strings: quotes, comments and commas that JSON does not have. */
static bool is_lax_json(uint32_t code, uint32_t before)
{
	return code == '\'' || code == '/' || code > 0x7f ||
	       (before == ',' && (code == '}' || code == ']'));
}

/* Reject what json-c would accept wrongly, and count the colons between keys
 * and values.
 */
static int check_text(const char *text, size_t len, size_t *colons,
		      struct egs_err *err)
{
	uint32_t code, before = 0;
	bool inside = false; /* in a string */
	size_t step;

	*colons = 0;
	for (size_t i = 0; i < len; i += step) {
		step = egs_utf8_decode(text + i, &code);
		if (!step)
			return egs_errf(err, "the message is not UTF-8");
		if (inside &&
		    (code < 0x20 || strncmp(text + i, "\\u0000", 6) == 0))
			return egs_errf(err, "the message has a control "
					     "character in a string");
		if (!inside && is_lax_json(code, before))
			return egs_errf(err, "the message is not JSON");
		if (!inside && !strchr(" \t\r\n", (int)code))
			before = code;
		if (inside && code == '\\' && text[i + 1])
			step = 2;
		else if (code == '"')
			inside = !inside;
		else if (!inside && code == ':')
			++*colons;
	}
	return 0;
}

static size_t count_keys(struct json_object *o)
{
	size_t n = 0;

	if (json_object_is_type(o, json_type_array))
		for (size_t i = 0; i < json_object_array_length(o); i++)
			n += count_keys(json_object_array_get_idx(o, i));
	if (json_object_is_type(o, json_type_object)) {
		json_object_object_foreach(o, key, value)
		{
			(void)key;
			n += 1 + count_keys(value);
		}
	}
	return n;
}

static struct json_object *parse_text(const char *text, size_t len,
				      struct egs_err *err)
{
	struct json_tokener *tok = json_tokener_new_ex(EGS_MSG_DEPTH_MAX);
	struct json_object *o;

	if (!tok) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	o = json_tokener_parse_ex(tok, text, (int)len);
	if (json_tokener_get_error(tok) == json_tokener_error_depth)
		egs_errf(err, "the message is nested deeper than %d levels",
			 EGS_MSG_DEPTH_MAX);
	else if (!o || json_tokener_get_parse_end(tok) != len)
		egs_errf(err, "the message is not JSON");
	else if (!json_object_is_type(o, json_type_object))
		egs_errf(err, "the message is not a JSON object");
	else {
		json_tokener_free(tok);
		return o;
	}
	json_object_put(o);
	json_tokener_free(tok);
	return NULL;
}

struct egs_msg *egs_msg_parse(const char *bytes, size_t len, size_t max,
			      struct egs_err *err)
{
	struct json_object *root = NULL;
	struct egs_msg *msg = NULL;
	size_t colons;
	char *text;

	if (len > max) {
		egs_errf(err, "the message has %zu bytes, the longest has %zu",
			 len, max);
		return NULL;
	}
	text = strndup(bytes, len);
	if (!text || (strlen(text) < len)) {
		egs_errf(err, text ? "the message has a NUL" : "out of memory");
		free(text);
		return NULL;
	}
	if (check_text(text, len, &colons, err) == 0)
		root = parse_text(text, len, err);
	free(text);
	if (root && count_keys(root) != colons) {
		egs_errf(err, "the message has a key twice");
		json_object_put(root);
	} else if (root && !(msg = wrap_json(root))) {
		egs_errf(err, "out of memory");
	}
	return msg;
}

const char *egs_msg_to_text(const struct egs_msg *msg, size_t *len)
{
	const char *text = NULL;

	if (msg->raw_text) {
		*len = msg->raw_len;
		return msg->raw_text;
	}
	if (!msg->failed)
		text = json_object_to_json_string_length(
			msg->root, JSON_C_TO_STRING_PLAIN, len);
	return text;
}

static bool is_cell(struct json_object *o)
{
	return json_object_is_type(o, json_type_string) ||
	       json_object_is_type(o, json_type_int) ||
	       json_object_is_type(o, json_type_double);
}

/* The value of 'key' if it has that type. */
static struct json_object *get_typed(const struct egs_msg *msg, const char *key,
				     enum json_type type)
{
	struct json_object *o;

	if (!json_object_object_get_ex(msg->root, key, &o) ||
	    !json_object_is_type(o, type))
		return NULL;
	return o;
}

const char *egs_msg_get_str(const struct egs_msg *msg, const char *key)
{
	struct json_object *o = get_typed(msg, key, json_type_string);

	return o ? json_object_get_string(o) : NULL;
}

bool egs_msg_get_int(const struct egs_msg *msg, const char *key, int64_t *value)
{
	struct json_object *o = get_typed(msg, key, json_type_int);

	if (o)
		*value = json_object_get_int64(o);
	return o;
}

bool egs_msg_is_true(const struct egs_msg *msg, const char *key)
{
	struct json_object *o = get_typed(msg, key, json_type_boolean);

	return o && json_object_get_boolean(o);
}

int egs_msg_each(const struct egs_msg *msg, egs_msg_fn *fn, void *arg)
{
	int rc = 0;

	json_object_object_foreach(msg->root, key, value)
	{
		bool text = is_cell(value) ||
			    json_object_is_type(value, json_type_boolean);

		rc = fn(arg, key, text ? json_object_get_string(value) : NULL);
		if (rc)
			break;
	}
	return rc;
}

static struct json_object *new_json_string(const char *value)
{
	struct json_object *o = NULL;
	char *text = strdup(value);

	if (text) {
		egs_utf8_clean(text);
		o = json_object_new_string(text);
	}
	free(text);
	return o;
}

/* Set 'value', which the message then owns; NULL: out of memory. */
static void set_value(struct egs_msg *msg, const char *key,
		      struct json_object *value)
{
	if (value && json_object_object_add(msg->root, key, value) == 0)
		return;
	json_object_put(value);
	msg->failed = true;
}

static void append_value(struct egs_msg *msg, struct json_object *array,
			 struct json_object *value)
{
	if (array && value && json_object_array_add(array, value) == 0)
		return;
	json_object_put(value);
	msg->failed = true;
}

void egs_msg_set_str(struct egs_msg *msg, const char *key, const char *value)
{
	if (value)
		set_value(msg, key, new_json_string(value));
}

void egs_msg_set_int(struct egs_msg *msg, const char *key, int64_t value)
{
	set_value(msg, key, json_object_new_int64(value));
}

void egs_msg_set_bool(struct egs_msg *msg, const char *key, bool value)
{
	set_value(msg, key, json_object_new_boolean(value));
}

void egs_msg_set_columns(struct egs_msg *msg, const char *const *names,
			 size_t count)
{
	struct json_object *columns = json_object_new_array();

	for (size_t i = 0; i < count; i++)
		append_value(msg, columns, new_json_string(names[i]));
	set_value(msg, "columns", columns);
	msg->rows = json_object_new_array();
	set_value(msg, "rows", msg->rows);
}

void egs_msg_add_row(struct egs_msg *msg)
{
	msg->row = msg->failed ? NULL : json_object_new_array();
	append_value(msg, msg->failed ? NULL : msg->rows, msg->row);
	if (msg->failed)
		msg->row = NULL;
}

void egs_msg_add_cell(struct egs_msg *msg, const char *text)
{
	append_value(msg, msg->row, new_json_string(text ? text : ""));
}

void egs_msg_add_cell_int(struct egs_msg *msg, int64_t value)
{
	append_value(msg, msg->row, json_object_new_int64(value));
}

/* Is 'row' an array of this number of cells? */
static bool is_table_row(struct json_object *row, size_t cells)
{
	if (!json_object_is_type(row, json_type_array) ||
	    json_object_array_length(row) != cells)
		return false;
	for (size_t i = 0; i < cells; i++)
		if (!is_cell(json_object_array_get_idx(row, i)))
			return false;
	return true;
}

int egs_msg_check_table(const struct egs_msg *msg, size_t *columns,
			size_t *rows, struct egs_err *err)
{
	struct json_object *names = get_typed(msg, "columns", json_type_array);
	struct json_object *lines = get_typed(msg, "rows", json_type_array);
	size_t n = names ? json_object_array_length(names) : 0;

	if (!lines || n == 0 || n > EGS_MSG_COLUMNS_MAX ||
	    !is_table_row(names, n))
		return egs_errf(err, "the answer has no table");
	for (size_t i = 0; i < json_object_array_length(lines); i++)
		if (!is_table_row(json_object_array_get_idx(lines, i), n))
			return egs_errf(err, "row %zu of the table is invalid",
					i + 1);
	*columns = n;
	*rows = json_object_array_length(lines);
	return 0;
}

const char *egs_msg_get_column(const struct egs_msg *msg, size_t column)
{
	struct json_object *names = get_typed(msg, "columns", json_type_array);

	return json_object_get_string(json_object_array_get_idx(names, column));
}

const char *egs_msg_get_cell(const struct egs_msg *msg, size_t row,
			     size_t column, bool *number)
{
	struct json_object *rows = get_typed(msg, "rows", json_type_array);
	struct json_object *cell = json_object_array_get_idx(
		json_object_array_get_idx(rows, row), column);

	*number = !json_object_is_type(cell, json_type_string);
	return json_object_get_string(cell);
}
