/* flat_json.h - JSON objects of one level, without a library
 *
 * The messages of a job (policyd/requests/job_message.h) are such objects.
 * egs, egs-static and libegs write them and read the answers with this; other
 * programs use msg.h.
 */
#ifndef EGS_IPC_FLAT_JSON_H
#define EGS_IPC_FLAT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ipc/rundir_layout.h"

/* A message that is being written; all zero: an empty message. */
struct egs_flat_json {
	char text[EGS_RUNDIR_MESSAGE_MAX + 1];
	size_t len;
	bool failed; /* too long */
};

/* Add a key with a value.  Keys are ours and need no quoting.  Bytes of a value
 * that are not UTF-8 become '?'.  NULL adds nothing.
 */
void egs_flat_json_add_str(struct egs_flat_json *flat, const char *key,
			   const char *value);
void egs_flat_json_add_int(struct egs_flat_json *flat, const char *key,
			   int64_t value);

/* End the message.  Returns its text, or NULL if it is too long. */
const char *egs_flat_json_end(struct egs_flat_json *flat);

/* Call 'fn' with each key of the object in 'text' and its value: a string, a
 * number as it is written, "true", "false" or "null"; NULL for a list or an
 * object.  'text' is overwritten.  Returns 0, or -1 if 'text' is not an object.
 */
typedef void egs_flat_json_fn(void *arg, const char *key, const char *value);
int egs_flat_json_each(char *text, egs_flat_json_fn *fn, void *arg);

#endif
