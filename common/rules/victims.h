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
struct egs_place {
	uint32_t gpus;
	uint32_t cores;
	uint32_t mem_mb;
	uint8_t type; /* of 'gpus' and of what is held there */
	bool closed;  /* P is not to go there */
	/* used inside: */
	bool picked, stale;
	uint32_t first, holds;
	uint32_t top;
	uint64_t top_cost, cost, option;
};

/* A job P may take from (egs_may_take() said yes). */
struct egs_cand {
	uint64_t cost; /* GPU-seconds lost with it, egs_lost() */
	uint32_t job_id;
	uint32_t class; /* egs_victim_class() */
	bool asked;	/* it is on its way out already */
	bool chosen;	/* out */
};

/* What candidate 'cand' holds on place 'place'; sorted by place. */
struct egs_hold {
	uint32_t place;
	uint32_t cand;
	uint32_t gpus;
	uint32_t cores;
	uint32_t mem_mb;
};

struct egs_scene {
	struct egs_place *place;
	struct egs_cand *cand;
	struct egs_hold *hold;
	uint32_t nplaces, ncands, nholds;
};

/* Choose victims for 'need': sets 'chosen' of each candidate.  Returns how
 * many, 0 when P fits as it is, -1 when it does not fit even with all of
 * them gone; then nobody is chosen.
 */
int egs_victims(struct egs_scene *s, const struct egs_need *need);

/* The next best set after a call of either: the nodes on which somebody would
 * have had to go are closed.  Returns as egs_victims() does.
 */
int egs_victims_next(struct egs_scene *s, const struct egs_need *need);

/* Does P fit when the chosen are gone? */
bool egs_victims_fit(const struct egs_scene *s, const struct egs_need *need);

/* The chosen one that is to be spared first, or the next after 'last'; NULL:
 * there is none.
 */
struct egs_cand *egs_victims_dearest(struct egs_scene *s,
				     const struct egs_cand *last);

/* GPU-seconds lost with a job that holds 'gpus', saved 'since_save_s' ago and
 * takes 'restart_s' to come back.
 */
uint64_t egs_lost(uint32_t gpus, uint32_t since_save_s, uint32_t restart_s);

#endif
