/* victims_node.h - the best set of victims on one node (inside victims.c) */
#ifndef EGS_RULES_VICTIMS_NODE_H
#define EGS_RULES_VICTIMS_NODE_H

#include "common/rules/victims.h"

/* 'top_class' of a node where no set helps. */
#define EGS_VICTIMS_NO_SET UINT32_MAX

/* Candidates considered on one node: the bits of 'victim_bits'.  A node has
 * fewer jobs on its GPUs; candidates beyond that are ignored.
 */
#define EGS_VICTIMS_NODE_MAX 64

/* With up to this many candidates every set is tried, above it a greedy one. */
#define EGS_VICTIMS_EXACT_MAX 8

struct egs_victims_room {
	uint64_t gpus;
	uint64_t cores;
	uint64_t mem_mb;
};

void egs_victims_room_add(struct egs_victims_room *room,
			  const struct egs_allocation *held);
bool egs_victims_room_covers(const struct egs_victims_room *room,
			     const struct egs_need *need);

/* Find the best set on node 'p', given the jobs already chosen.  Sets its
 * 'victim_bits' (bit h: the job of allocation first_alloc + h), 'top_class'
 * (strongest class in the set, 0 if empty, EGS_VICTIMS_NO_SET if there is no
 * set), 'top_cost' (of that class) and 'cost'.  Returns false, with 'p' as it
 * was, if that takes a class above 'top'.
 */
bool egs_victims_node_search(const struct egs_victim_search *s,
			     struct egs_search_node *p,
			     const struct egs_need *need, uint32_t top);

#endif
