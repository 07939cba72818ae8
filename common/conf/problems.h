/* problems.h - what is wrong with an egs.conf, all of it at once */
#ifndef EGS_CONF_PROBLEMS_H
#define EGS_CONF_PROBLEMS_H

#include <stddef.h>

#include "common/base/err.h"
#include "common/conf/document.h"

/* Most sentences that are kept; nobody reads more before the next try. */
#define EGS_CONF_PROBLEMS_MAX 50

/* One sentence each, "egs.conf:14: Tier=prod: MinRuntime=5 is ...", in the
 * order of the file.  { 0 } is none.
 */
struct egs_conf_problems {
	size_t count; /* found; those beyond 'kept' are only counted */
	size_t stored;
	struct egs_conf_problem {
		const struct egs_conf_item *item; /* dangles once it is read */
		struct egs_err err;
	} list[EGS_CONF_PROBLEMS_MAX];
};

/* Say that 'item' is wrong: 'predicate' follows its "Key=Value".  Of an item
 * that is a problem itself, 'predicate' is NULL.
 */
void egs_conf_add_problem(struct egs_conf_problems *problems,
			  const struct egs_conf_item *item,
			  const char *predicate);

/* Say something that belongs to no item. */
void egs_conf_add_file_problem(struct egs_conf_problems *problems,
			       const char *path, const char *sentence);

#endif
