/* conf.h - egs.conf: read it, query it, print it
 *
 * The keys are in keys.c, and egs.conf(5) explains them.  Their values are in
 * policy_conf.h.  internal.h shows how the file is read.
 */
#ifndef EGS_CONF_CONF_H
#define EGS_CONF_CONF_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/conf/keys.h"
#include "common/conf/policy_conf.h"

/* A file that was read: its values and the line of each. */
struct egs_conf;

/* Problems beyond these are only counted. */
#define EGS_CONF_PROBLEMS_MAX 50

/* The problems of a file in the order of its lines, one sentence each:
 * "egs.conf:14: Tier=prod: MinRuntime=5 is ...".  { 0 } is none.
 */
struct egs_conf_problems {
	size_t count; /* all that were found */
	size_t stored;
	struct egs_conf_problem {
		const struct egs_conf_item *item; /* internal */
		struct egs_err err;
	} list[EGS_CONF_PROBLEMS_MAX];
};

/* Read 'path' into a new '*conf', and free the old one, which may be NULL.
 * Returns 0, or -1 with at least one sentence in 'problems' and '*conf' as it
 * was.
 */
int egs_conf_load(struct egs_conf **conf, const char *path,
		  struct egs_conf_problems *problems);
void egs_conf_free(struct egs_conf *conf);

/* May this process run the programs that the file names, such as Notify=?
 * (egs_program_check())  Other hosts may not have them, so only egs-policyd and
 * egsctl ask.  Returns 0, or -1 with a sentence for each in 'problems', which
 * keeps the others.
 */
int egs_conf_check_programs(const struct egs_conf *conf,
			    struct egs_conf_problems *problems);

/* Read 'path'.  NULL with the first problem in 'err' on failure. */
struct egs_conf *egs_conf_open(const char *path, struct egs_err *err);

/* The values, borrowed until 'conf' is freed or loaded again.  NULL for NULL.
 */
const struct egs_policy_conf *egs_conf_policy(const struct egs_conf *conf);

enum egs_conf_dir {
	EGS_STATE_DIR,
	EGS_RUN_DIR,
	EGS_NODE_DIR,	/* on a compute node, for root only */
	EGS_NODE_SPOOL, /* likewise */
};

/* The path of a directory; the default if the file does not set it, or if
 * 'policy' is NULL.  Borrowed from 'policy'.
 */
const char *egs_conf_dir(const struct egs_policy_conf *policy,
			 enum egs_conf_dir dir);

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
 * without memory.
 */
int egs_conf_for_each_value(const struct egs_conf *conf,
			    egs_conf_value_fn *each, void *arg);

/* Fill 'names' with all phases, built-in ones first, then those of the site.
 * Returns their number.  The names are borrowed from 'policy'.
 */
size_t egs_conf_list_phases(const struct egs_policy_conf *policy,
			    const char *names[EGS_PHASES_MAX]);

#endif
