/* kinds_internal.h - how each kind of value is read and written
 *
 * For kinds.c and the files that know the kinds; everybody else calls
 * egs_conf_read_field() and egs_conf_write_field().
 */
#ifndef EGS_CONF_KINDS_INTERNAL_H
#define EGS_CONF_KINDS_INTERNAL_H

#include <stdbool.h>
#include <stdio.h>

#include "common/base/err.h"
#include "common/conf/keys.h"
#include "common/conf/policy_conf.h"

/* Where a value goes. */
struct egs_conf_target {
	struct egs_policy_conf *conf;
	const struct egs_conf_key *key;
	void *field;
	bool types_declared; /* types: see values_gpus.h */
};

/* Where a value is. */
struct egs_conf_source {
	const struct egs_policy_conf *conf;
	const struct egs_conf_key *key;
	const void *field;
};

struct egs_conf_ops {
	int (*read)(const struct egs_conf_target *to, const char *text,
		    struct egs_err *err);
	void (*write)(const struct egs_conf_source *from, FILE *out);
};

/* Together they have every kind once. */
extern const struct egs_conf_ops egs_conf_number_ops[EGS_CONF_KINDS];
extern const struct egs_conf_ops egs_conf_text_ops[EGS_CONF_KINDS];

/* Is this what the manual says the default is? */
bool egs_conf_is_default(const struct egs_conf_key *key, const char *text);

#endif
