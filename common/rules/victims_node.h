/* victims_node.h - the best set of victims on one node (inside victims.c) */
#ifndef EGS_RULES_VICTIMS_NODE_H
#define EGS_RULES_VICTIMS_NODE_H

#include "common/rules/victims.h"

/* 'top' of a place where no set helps. */
#define EGS_NO_SET UINT32_MAX

/* Candidates looked at on one node: the bits of 'option'.  A node has fewer
 * jobs on its GPUs; what is listed beyond that is left alone.
 */
#define EGS_NODE_HOLDS 64

/* Up to this many a search looks at every set, above it at one of them. */
#define EGS_NODE_EXACT 8

struct egs_room {
	uint64_t gpus;
	uint64_t cores;
	uint64_t mem_mb;
};

void egs_room_add(struct egs_room *room, const struct egs_hold *hold);
bool egs_room_covers(const struct egs_room *room, const struct egs_need *need);

/* Find the set for place 'p', given who is chosen already: sets its 'option'
 * (bit h: the victim of hold first + h), 'top' (strongest class in it, 0 when
 * empty, EGS_NO_SET when there is none), 'top_cost' (of that class), 'cost'.
 * Returns false, with 'p' as it was, when that takes a class above 'top'.
 */
bool egs_node_search(const struct egs_scene *s, struct egs_place *p,
		     const struct egs_need *need, uint32_t top);

#endif
