/* conf_ops.h - how each kind of value is read and written
 *
 * For conf_kind.c and the files that know the kinds; everybody else calls
 * egs_conf_read() and egs_conf_write().
 */
#ifndef EGS_WIRE_CONF_OPS_H
#define EGS_WIRE_CONF_OPS_H

#include <stdbool.h>
#include <stdio.h>

#include "common/base/err.h"
#include "policyd/core/conf.h"
#include "policyd/wire/conf_keys.h"

/* Where a value goes. */
struct egs_conf_to {
	struct egs_policy_conf *conf;
	const struct egs_conf_key *key;
	void *field;
	bool closed; /* types: see conf_gpus.h */
};

/* Where a value is. */
struct egs_conf_from {
	const struct egs_policy_conf *conf;
	const struct egs_conf_key *key;
	const void *field;
};

struct egs_conf_ops {
	int (*read)(const struct egs_conf_to *to, const char *text,
		    struct egs_err *err);
	void (*write)(const struct egs_conf_from *from, FILE *out);
};

/* Together they have every kind once. */
extern const struct egs_conf_ops egs_conf_number_ops[EGS_CONF_KINDS];
extern const struct egs_conf_ops egs_conf_word_ops[EGS_CONF_KINDS];

/* Is this what the manual says the default is? */
bool egs_conf_is_default(const struct egs_conf_key *key, const char *text);

#endif
