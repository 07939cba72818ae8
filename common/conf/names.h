/* names.h - names in egs.conf: lists of them, and what they refer to
 *
 * Readers follow values.h: 0, or -1 and a predicate in 'err'.
 */
#ifndef EGS_CONF_NAMES_H
#define EGS_CONF_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/err.h"
#include "common/conf/keys.h"
#include "common/conf/policy_conf.h"

/* The canonical form of a name that follows 'record'=, in 'name': folded if
 * the record folds, and of a phase the one it is another spelling of.
 * Letters, digits, '_', '.' and '-' make a name, and words that mean
 * something else (all, none, any, ...) do not.
 */
int egs_conf_read_name(const struct egs_conf_record *record, const char *text,
		       char name[EGS_NAME_SIZE], struct egs_err *err);

/* The row of a record's name, in '*row'; -1 with a predicate when there is
 * none.  The name is 'part', an entry of 'text', or with NULL all of it.
 */
int egs_conf_read_ref(const struct egs_policy_conf *conf,
		      const struct egs_conf_record *record, const char *text,
		      const char *part, int *row, struct egs_err *err);

/* Call 'call' with each entry of the list 'text' until it refuses one.  An
 * empty entry is refused, and so are too many.
 */
#define EGS_CONF_ENTRIES_MAX 2000

typedef int egs_conf_entry_fn(void *arg, const char *entry,
			      struct egs_err *err);

int egs_conf_for_each_entry(const char *text, egs_conf_entry_fn *call,
			    void *arg, struct egs_err *err);

/* A list of names "a,b,c", no two the same; 'globs': "x*" too.  The text
 * itself is the value.
 */
int egs_conf_check_list(const char *text, bool globs, struct egs_err *err);

/* TierOrder=: adds the tiers, strongest first. */
int egs_conf_read_tier_order(struct egs_policy_conf *conf, const char *text,
			     struct egs_err *err);

/* Tiers=: a bit for each tier named. */
int egs_conf_read_tiers(const struct egs_policy_conf *conf, const char *text,
			uint32_t *out, struct egs_err *err);
void egs_conf_write_tiers(const struct egs_policy_conf *conf, uint32_t tiers,
			  FILE *out);

#endif
