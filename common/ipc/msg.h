/* msg.h - what clients and the daemon say to each other: JSON objects
 *
 * A request is {"verb": "show", "what": "jobs"}, its arguments plain keys.  An
 * answer is {"ok": true, ...} or {"error": "one sentence"}, with "again": true
 * if the same request may be answered otherwise in a second; a table in it is
 * {"columns": ["JOBID", ...], "rows": [["81234", ...], ...]}.
 *
 * A message remembers that it ran out of memory, so a caller writes all of it
 * and looks once at what egs_msg_to_text() returns.
 */
#ifndef EGS_IPC_MSG_H
#define EGS_IPC_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

/* The longest request and the longest answer in bytes: a table of 100,000 jobs
 * is an answer, no request is nearly so long.
 */
#define EGS_MSG_REQUEST_MAX (64U << 10)
#define EGS_MSG_ANSWER_MAX  (64U << 20)

#define EGS_MSG_DEPTH_MAX   16
#define EGS_MSG_COLUMNS_MAX 64

struct egs_msg;

/* An empty message, NULL without memory. */
struct egs_msg *egs_msg_new(void);
void egs_msg_free(struct egs_msg *msg);

/* The message in 'len' bytes, which need no NUL behind them.  NULL with 'err'
 * set if it is longer than 'max', nested deeper than EGS_MSG_DEPTH_MAX, no JSON
 * object, no UTF-8, has a key twice, or a NUL in a string.
 */
struct egs_msg *egs_msg_parse(const char *bytes, size_t len, size_t max,
			      struct egs_err *err);

/* The message on one line, with its length in '*len'.  Borrowed until the
 * message is changed or freed.  NULL if there was no memory at some time.
 */
const char *egs_msg_to_text(const struct egs_msg *msg, size_t *len);

/* Make 'msg' what 'other' is, which is freed. */
void egs_msg_replace(struct egs_msg *msg, struct egs_msg *other);

/* The message is 'text', which is taken over (free), as another has written it:
 * egs_msg_to_text() gives that and nothing else.
 */
void egs_msg_set_raw(struct egs_msg *msg, char *text, size_t len);

/* Set a key, again if it is there.  What is not UTF-8 in 'value' is set as
 * '?'; a NULL sets nothing.
 */
void egs_msg_set_str(struct egs_msg *msg, const char *key, const char *value);
void egs_msg_set_int(struct egs_msg *msg, const char *key, int64_t value);
void egs_msg_set_bool(struct egs_msg *msg, const char *key, bool value);

/* The string of 'key', borrowed from the message; NULL if there is none. */
const char *egs_msg_get_str(const struct egs_msg *msg, const char *key);

/* The number of 'key' in '*value'; false if there is none, and '*value' is
 * left alone.
 */
bool egs_msg_get_int(const struct egs_msg *msg, const char *key,
		     int64_t *value);

/* Is 'key' there, and true? */
bool egs_msg_is_true(const struct egs_msg *msg, const char *key);

/* Call 'fn' with each key in its order and its value as text, NULL if it is a
 * list or the like, until it returns other than 0; returns what it returned
 * last.
 */
typedef int egs_msg_fn(void *arg, const char *key, const char *value);
int egs_msg_each(const struct egs_msg *msg, egs_msg_fn *fn, void *arg);

/* Write a table: its columns once, then each row and its cells in order.  A
 * row has as many cells as there are columns.
 */
void egs_msg_set_columns(struct egs_msg *msg, const char *const *names,
			 size_t count);
void egs_msg_add_row(struct egs_msg *msg);
void egs_msg_add_cell(struct egs_msg *msg, const char *text);
void egs_msg_add_cell_int(struct egs_msg *msg, int64_t value);

/* The size of the table in a message.  0, or -1 with 'err' set if there is
 * none or it is none: too many columns, rows of other lengths, a cell that is
 * neither a string nor a number.
 */
int egs_msg_check_table(const struct egs_msg *msg, size_t *columns,
			size_t *rows, struct egs_err *err);

/* Of a table that egs_msg_check_table() found: the name of a column, and a cell
 * as text, both borrowed; '*number' says whether it is one.
 */
const char *egs_msg_get_column(const struct egs_msg *msg, size_t column);
const char *egs_msg_get_cell(const struct egs_msg *msg, size_t row,
			     size_t column, bool *number);

#endif
