/* node_marks.h - what the daemon says of nodes, as bitmaps
 *
 * Which are fenced, and which are those of a tier or a phase.  It changes
 * seldom: to look is to compare a number.
 */
#ifndef EGS_SELECT_NODE_MARKS_H
#define EGS_SELECT_NODE_MARKS_H

#include "common/ipc/table.h"
#include "plugins/compat/compat.h"

/* Nodes of tiers, or of phases. */
struct egs_node_sets {
	struct egs_table_own_nodes sets;
	bitstr_t *nodes[32]; /* of each, NULL: none */
};

struct egs_node_marks {
	struct egs_node_sets tiers, phases;
	bitstr_t *fenced; /* NULL: none */
};

/* The marks in force, NULL: there are none.  For one thread at a time. */
const struct egs_node_marks *egs_node_marks_get(void);

#endif
