/* comment_json.h - hints in the comment of a job, as JSON */
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

/* How long GPUs of the job may be idle, in seconds, by the comment that
 * NVIDIA's clusters use:
 *
 *	{"OccupiedIdleGPUsJobReaper":{"exemptIdleTimeMins":"60","reason":"x"}}
 *
 * At most EGS_IDLE_OK_MAX_S.  0: the comment has no such time.
 */
#define EGS_IDLE_OK_MAX_S 86400
uint32_t egs_comment_json_get_idle_ok_s(const char *comment);

#endif
