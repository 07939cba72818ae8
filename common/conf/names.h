/* names.h - names of records, and the phases that every site has
 *
 * egs.conf and hints accept the same names: both use this.
 */
#ifndef EGS_CONF_NAMES_H
#define EGS_CONF_NAMES_H

#include "common/base/err.h"
#include "common/conf/keys.h"
#include "common/conf/policy_conf.h"

/* Put the canonical form of a record's name into 'name': in lower case if the
 * record is read so, and without aliases of a phase.  A name has letters,
 * digits, '_', '.' and '-'.  Words that mean something else (all, none, any,
 * ...) are refused.  Returns 0, or -1 with a predicate in 'err' (values.h).
 */
int egs_conf_read_name(enum egs_conf_record_id record, const char *text,
		       char name[EGS_NAME_SIZE], struct egs_err *err);

/* A word that is accepted, and the word it stands for. */
struct egs_alias {
	const char *typed;
	const char *means;
};

/* The built-in phases and their aliases.  The canonical names are first: there
 * both words are the same.
 */
enum { EGS_PHASE_NAMES = 16 };
extern const struct egs_alias egs_phase_names[EGS_PHASE_NAMES];

/* The built-in phase that 'typed' stands for if the site has no phase of that
 * name, as train for finetune; or NULL.
 */
const char *egs_phase_weak_alias(const char *typed);

/* The row of the phase that 'typed' names, in any spelling; -1: none. */
int egs_conf_find_typed_phase(const struct egs_policy_conf *conf,
			      const char *typed);

#endif
