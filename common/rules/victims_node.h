/* victims_node.h - the best set of victims on one node (inside victims.c) */
#ifndef EGS_RULES_VICTIMS_NODE_H
#define EGS_RULES_VICTIMS_NODE_H

#include "common/rules/victims.h"

/* 'top' of a place where no set helps. */
#define EGS_VICTIMS_NO_SET UINT32_MAX

/* Candidates looked at on one node: the bits of 'option'.  A node has fewer
 * jobs on its GPUs; what is listed beyond that is left alone.
 */
#define EGS_VICTIMS_NODE_MAX 64

/* Up to this many a search looks at every set, above it at one of them. */
#define EGS_VICTIMS_EXACT_MAX 8

struct egs_victims_room {
	uint64_t gpus;
	uint64_t cores;
	uint64_t mem_mb;
};

void egs_victims_room_add(struct egs_victims_room *room,
			  const struct egs_allocation *hold);
bool egs_victims_room_covers(const struct egs_victims_room *room,
			     const struct egs_need *need);

/* Find the set for place 'p', given who is chosen already: sets its 'option'
 * (bit h: the victim of hold first + h), 'top' (strongest class in it, 0 when
 * empty, EGS_VICTIMS_NO_SET when there is none), 'top_cost' (of that class),
 * 'cost'. Returns false, with 'p' as it was, when that takes a class above
 * 'top'.
 */
bool egs_victims_node_search(const struct egs_victim_search *s,
			     struct egs_search_node *p,
			     const struct egs_need *need, uint32_t top);

#endif
