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

/* Find the best set on node 'p', given the jobs already chosen.  Sets four
 * fields of 'p'.  'victim_bits': bit h is the job of allocation first_alloc +
 * h.  'top_class': the strongest class in the set, 0 if the set is empty,
 * EGS_VICTIMS_NO_SET without a set.  'top_cost': the cost of that class.
 * 'cost': the cost of the set.  Returns false, with 'p' unchanged, if P needs
 * victims of a class above 'top'.
 */
bool egs_victims_node_search(const struct egs_victim_search *s,
			     struct egs_search_node *p,
			     const struct egs_need *need, uint32_t top);

#endif
