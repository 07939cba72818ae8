/* msg.h - requests to the daemon and its answers: JSON objects
 *
 * A request is {"verb": "show", "what": "jobs"}; its arguments are plain keys.
 * An answer is {"ok": true, ...} or {"error": "one sentence"}.  With "again":
 * true the client may send the same request again in a second.  A table in an
 * answer is {"columns": ["JOBID", ...], "rows": [["81234", ...], ...]}.
 *
 * A message remembers that it ran out of memory.  So a caller writes all of it
 * and checks only the result of egs_msg_to_text().
 */
#ifndef EGS_IPC_MSG_H
#define EGS_IPC_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

/* The longest request and the longest answer in bytes.  An answer may be a
 * table of 100,000 jobs.
 */
#define EGS_MSG_REQUEST_MAX (64U << 10)
#define EGS_MSG_ANSWER_MAX  (64U << 20)

#define EGS_MSG_DEPTH_MAX   16
#define EGS_MSG_COLUMNS_MAX 64

struct egs_msg;

/* An empty message; NULL: out of memory. */
struct egs_msg *egs_msg_new(void);
void egs_msg_free(struct egs_msg *msg);

/* Parse 'len' bytes, without a NUL at the end.  Returns NULL with 'err' set if
 * there are more than 'max' bytes, or they are not a JSON object in UTF-8.
 * Also refused: nesting deeper than EGS_MSG_DEPTH_MAX, a key that is given
 * twice, and a NUL in a string.
 */
struct egs_msg *egs_msg_parse(const char *bytes, size_t len, size_t max,
			      struct egs_err *err);

/* The message on one line, with its length in '*len'.  Borrowed until the
 * message is changed or freed.  NULL: out of memory, now or before.
 */
const char *egs_msg_to_text(const struct egs_msg *msg, size_t *len);

/* Give 'msg' the content of 'other', and free 'other'. */
void egs_msg_replace(struct egs_msg *msg, struct egs_msg *other);

/* Make 'text' the whole message; egs_msg_to_text() returns it unchanged.  The
 * message frees 'text'.
 */
void egs_msg_set_raw(struct egs_msg *msg, char *text, size_t len);

/* Set a key, or replace its value.  Bytes of 'value' that are not UTF-8 become
 * '?'.  NULL sets nothing.
 */
void egs_msg_set_str(struct egs_msg *msg, const char *key, const char *value);
void egs_msg_set_int(struct egs_msg *msg, const char *key, int64_t value);
void egs_msg_set_bool(struct egs_msg *msg, const char *key, bool value);

/* The string of 'key', borrowed from the message; NULL: none. */
const char *egs_msg_get_str(const struct egs_msg *msg, const char *key);

/* The number of 'key' in '*value'.  False if there is none; '*value' is
 * unchanged.
 */
bool egs_msg_get_int(const struct egs_msg *msg, const char *key,
		     int64_t *value);

/* Is the value of 'key' true? */
bool egs_msg_is_true(const struct egs_msg *msg, const char *key);

/* Call 'fn' with each key in order and its value as text; NULL for a list or an
 * object.  Ends when 'fn' returns a value other than 0.  Returns the last value
 * of 'fn'.
 */
typedef int egs_msg_fn(void *arg, const char *key, const char *value);
int egs_msg_each(const struct egs_msg *msg, egs_msg_fn *fn, void *arg);

/* Write a table: its columns once, then each row and its cells in order.  A
 * row has one cell for each column.
 */
void egs_msg_set_columns(struct egs_msg *msg, const char *const *names,
			 size_t count);
void egs_msg_add_row(struct egs_msg *msg);
void egs_msg_add_cell(struct egs_msg *msg, const char *text);
void egs_msg_add_cell_int(struct egs_msg *msg, int64_t value);

/* Check the table in a message and get its size.  Returns 0, or -1 with 'err'
 * set if there is no table or it has too many columns.  Each row must have the
 * same length, and each cell must be a string or a number.
 */
int egs_msg_check_table(const struct egs_msg *msg, size_t *columns,
			size_t *rows, struct egs_err *err);

/* After egs_msg_check_table(): the name of a column, and a cell as text, both
 * borrowed.  '*number' says whether the cell is a number.
 */
const char *egs_msg_get_column(const struct egs_msg *msg, size_t column);
const char *egs_msg_get_cell(const struct egs_msg *msg, size_t row,
			     size_t column, bool *number);

#endif
