/* remedies.h - Do= of a rule: what is done about a GPU
 *
 * A remedy is one bit of enum egs_remedy (policy_conf.h).
 */
#ifndef EGS_CONF_REMEDIES_H
#define EGS_CONF_REMEDIES_H

#include <stdio.h>

#include "common/base/err.h"
#include "common/conf/policy_conf.h"

/* The word of a remedy, as in Do=; a remedy by its word, or 0. */
const char *egs_remedies_name(enum egs_remedy remedy);
enum egs_remedy egs_remedies_find(const char *name);

/* Read "note,warn,run=PROGRAM" into '*out'.  Returns 0, or -1 with '*out'
 * unchanged and a predicate in 'err' (values.h).
 */
int egs_remedies_read(const char *text, struct egs_remedies *out,
		      struct egs_err *err);

/* Write the canonical text. */
void egs_remedies_write(const struct egs_remedies *remedies, FILE *out);

#endif
