/* kinds.h - a field read and written as its key's kind says
 *
 * One place knows the kinds; the loops over keys call these two.
 */
#ifndef EGS_CONF_KINDS_H
#define EGS_CONF_KINDS_H

#include <stdbool.h>
#include <stdio.h>

#include "common/base/err.h"
#include "common/conf/keys.h"
#include "common/conf/policy_conf.h"

/* Read 'text' into the field of 'key' in 'row', a row of 'conf'.  'closed' as
 * in values_gpus.h.  Returns 0, or -1 with the field left as it was and 'err' a
 * predicate that follows "Key=Value".
 */
int egs_conf_read_field(struct egs_policy_conf *conf, void *row,
			const struct egs_conf_key *key, const char *text,
			bool closed, struct egs_err *err);

/* Write the value in its canonical form, without a newline. */
void egs_conf_write_field(const struct egs_policy_conf *conf, const void *row,
			  const struct egs_conf_key *key, FILE *out);

#endif
