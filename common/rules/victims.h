/* victims.h - the set of jobs to preempt so that a requester P fits
 *
 * The search compares the request of P with the free resources of each node and
 * with the allocations of candidates there.  P fits without the victims, and P
 * needs every one of them to be preempted.  Victims have the lowest class
 * (egs_victim_class()).  Within a class the set that loses the fewest
 * GPU-seconds wins.  Each victim costs a fixed charge, so that many new jobs
 * are not cheaper than one old job.  A job that is already being preempted
 * costs nothing.
 *
 * The caller owns all arrays, nothing is allocated, and a call takes
 * microseconds.  So select/egs can call it inside job_test.
 */
#ifndef EGS_RULES_VICTIMS_H
#define EGS_RULES_VICTIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* GPU-seconds that each victim costs beside its lost work. */
#define EGS_VICTIM_CHARGE UINT64_C(3600)

/* Expected duration of a restart, in seconds. */
#define EGS_RESTART_S 60

#define EGS_TYPE_ANY UINT8_MAX

/* The request of P on each of 'nodes' nodes. */
struct egs_need {
	uint32_t nodes;
	uint32_t gpus;
	uint32_t cores;
	uint32_t mem_mb;
	uint8_t type; /* or EGS_TYPE_ANY */
};

/* A node that P may use, and what is free there. */
struct egs_search_node {
	uint32_t gpus;
	uint32_t cores;
	uint32_t mem_mb;
	uint8_t type; /* of all its GPUs */
	bool closed;  /* P may not use it */
	/* internal: */
	bool picked, needs_search;
	uint32_t first_alloc, nallocs;
	uint32_t top_class;
	uint64_t top_cost, cost, victim_bits;
};

/* A job that P may preempt (EGS_TAKE_YES of egs_may_take()). */
struct egs_candidate {
	uint64_t cost; /* egs_victims_lost_work() */
	uint32_t job_id;
	uint32_t class;	 /* egs_victim_class() */
	bool preempting; /* it is being preempted already */
	bool chosen;	 /* out */
};

/* What 'candidate' holds on 'node'; sorted by node. */
struct egs_allocation {
	uint32_t node;
	uint32_t candidate;
	uint32_t gpus;
	uint32_t cores;
	uint32_t mem_mb;
};

struct egs_victim_search {
	struct egs_search_node *node;
	struct egs_candidate *candidate;
	struct egs_allocation *alloc;
	uint32_t nnodes, ncandidates, nallocs;
};

/* Choose victims for 'need': sets 'chosen' of each candidate.  Returns the
 * number of victims, 0 if P fits without any.  Returns -1, with no candidate
 * chosen, if P does not fit even if all candidates are preempted.
 */
int egs_victims_choose(struct egs_victim_search *s,
		       const struct egs_need *need);

/* The next best set after a call of either function: the nodes with victims of
 * that call are closed.  Returns as egs_victims_choose() does.
 */
int egs_victims_choose_next(struct egs_victim_search *s,
			    const struct egs_need *need);

/* Does P fit if the chosen jobs are preempted? */
bool egs_victims_suffice(const struct egs_victim_search *s,
			 const struct egs_need *need);

/* The chosen job that should be dropped first, or the next after 'last'; NULL:
 * there is none.
 */
struct egs_candidate *egs_victims_costliest(struct egs_victim_search *s,
					    const struct egs_candidate *last);

/* GPU-seconds lost if a job with 'gpus' GPUs is preempted 'since_save_s' after
 * its last save and needs 'restart_s' to restart.
 */
uint64_t egs_victims_lost_work(uint32_t gpus, uint32_t since_save_s,
			       uint32_t restart_s);

#endif
