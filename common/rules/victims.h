/* victims.h - the set of jobs that has to go so that P fits
 *
 * GPU-exact: P's shape against what each node has free and each candidate
 * holds there.  The set found makes P fit, and no member can be dropped.
 * Victims come from the bottom of the order (egs_victim_class()); among
 * equals the least GPU-seconds are lost, with a fixed charge per victim so
 * that a crowd of newly started jobs is no bargain, and a job that was asked
 * already costs nothing more.
 *
 * Everything is in arrays of the caller, nothing is allocated, and a call
 * takes microseconds, so that select/egs can ask inside job_test.
 */
#ifndef EGS_RULES_VICTIMS_H
#define EGS_RULES_VICTIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* GPU-seconds a victim costs on top of what it loses. */
#define EGS_VICTIM_CHARGE UINT64_C(3600)

/* Seconds a restart is expected to take when nobody measured it. */
#define EGS_RESTART_S 60

#define EGS_TYPE_ANY UINT8_MAX

/* P wants this on each of 'nodes' nodes. */
struct egs_need {
	uint32_t nodes;
	uint32_t gpus;
	uint32_t cores;
	uint32_t mem_mb;
	uint8_t type; /* or EGS_TYPE_ANY */
};

/* A node P may use, and what is free there. */
struct egs_search_node {
	uint32_t gpus;
	uint32_t cores;
	uint32_t mem_mb;
	uint8_t type; /* of 'gpus' and of what is held there */
	bool closed;  /* P is not to go there */
	/* used inside: */
	bool picked, needs_search;
	uint32_t first_alloc, nallocs;
	uint32_t top_class;
	uint64_t top_cost, cost, victim_bits;
};

/* A job P may take from (egs_may_take() said yes). */
struct egs_candidate {
	uint64_t cost; /* GPU-seconds lost with it, egs_victims_lost_work() */
	uint32_t job_id;
	uint32_t class;	 /* egs_victim_class() */
	bool preempting; /* it is on its way out already */
	bool chosen;	 /* out */
};

/* What candidate 'cand' holds on place 'place'; sorted by place. */
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

/* Choose victims for 'need': sets 'chosen' of each candidate.  Returns how
 * many, 0 when P fits as it is, -1 when it does not fit even with all of
 * them gone; then nobody is chosen.
 */
int egs_victims_choose(struct egs_victim_search *s,
		       const struct egs_need *need);

/* The next best set after a call of either: the nodes on which somebody would
 * have had to go are closed.  Returns as egs_victims_choose() does.
 */
int egs_victims_choose_next(struct egs_victim_search *s,
			    const struct egs_need *need);

/* Does P fit when the chosen are gone? */
bool egs_victims_suffice(const struct egs_victim_search *s,
			 const struct egs_need *need);

/* The chosen one that is to be spared first, or the next after 'last'; NULL:
 * there is none.
 */
struct egs_candidate *egs_victims_costliest(struct egs_victim_search *s,
					    const struct egs_candidate *last);

/* GPU-seconds lost with a job that holds 'gpus', saved 'since_save_s' ago and
 * takes 'restart_s' to come back.
 */
uint64_t egs_victims_lost_work(uint32_t gpus, uint32_t since_save_s,
			       uint32_t restart_s);

#endif
