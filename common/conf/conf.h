/* conf.h - egs.conf: read it, ask it, print it
 *
 * The grammar is in lex.h, the keys in conf_keys.c, their meaning in
 * egs.conf(5) and their values in common/conf/policy_conf.h.
 */
#ifndef EGS_CONF_CONF_H
#define EGS_CONF_CONF_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/conf/keys.h"
#include "common/conf/policy_conf.h"
#include "common/conf/problems.h"

/* A file that was read: its values and where each came from. */
struct egs_conf;

/* Read 'path' and put it in the place of '*conf', which is freed; NULL is
 * none yet.  Returns 0, or -1 with at least one sentence in 'problems' and
 * '*conf' left as it was.
 */
int egs_conf_load(struct egs_conf **conf, const char *path,
		  struct egs_conf_problems *problems);
void egs_conf_free(struct egs_conf *conf);

/* The values; borrowed until 'conf' is freed or loaded again. */
const struct egs_policy_conf *egs_conf_policy(const struct egs_conf *conf);

/* A value in force. */
struct egs_conf_value {
	const struct egs_conf_record *record;
	const char *name; /* of the row; "" for a global key */
	const struct egs_conf_key *key;
	const char *text; /* canonical, until the call returns */
	const char *file; /* NULL: it is the default */
	unsigned line;
};

typedef void egs_conf_value_fn(void *arg, const struct egs_conf_value *value);

/* Call 'each' with every value in force, global ones first.  Returns 0, or -1
 * when out of memory.
 */
int egs_conf_for_each_value(const struct egs_conf *conf,
			    egs_conf_value_fn *each, void *arg);

/* The names of all phases, built-in ones first, then those of the site; how
 * many there are.  Borrowed from 'policy'.
 */
size_t egs_conf_list_phases(const struct egs_policy_conf *policy,
			    const char *names[EGS_PHASES_MAX]);

/* Do the quotas fit in the cluster?  'capacity' has the GPUs of each type,
 * down or drained ones included.  Returns 0, or -1 with 'err' set to the
 * first type that does not.
 */
int egs_conf_check_capacity(const struct egs_policy_conf *policy,
			    const uint32_t capacity[EGS_TYPE_ROWS],
			    struct egs_err *err);

#endif
