/* comment_json.h - a hint in the comment of a job, as JSON */
#ifndef EGS_HINT_COMMENT_JSON_H
#define EGS_HINT_COMMENT_JSON_H

#include "common/base/err.h"
#include "common/hint/hint.h"

/* Set the keys of {"egs":{"phase":"train","quiet":true}} in '*hint'.  Other
 * members are ignored.  A comment that is NULL, not a JSON object or without
 * "egs" at its top sets nothing.  If a key occurs twice, the last one counts.
 * Returns 0, or -1 with 'err' set.
 */
int egs_comment_json_read(struct egs_hint *hint, const char *comment,
			  const struct egs_hint_site *site,
			  struct egs_err *err);

#endif
