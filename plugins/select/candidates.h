/* candidates.h - the nodes and candidates of one job_test, for core's choice
 *
 * Filled from Slurm's records into memory that is kept for the next time.
 */
#ifndef EGS_SELECT_CANDIDATES_H
#define EGS_SELECT_CANDIDATES_H

#include "plugins/select/slurm_records.h"

/* Candidates in the scene, in the order of egs_victim_search.cand. */
struct egs_candidates {
	struct egs_victim_search search;
	job_record_t **job; /* of each candidate */
	uint32_t type_id;
	/* used inside: */
	uint32_t *slot_of_node; /* by node: place + 1, 0 none */
	struct egs_allocation *unsorted;
	uint32_t node_room, slot_room, candidate_room, allocation_room,
		unsorted_room;
	uint32_t nunsorted;
};

/* Put 'nodes' on the stage with what is free there (GPUs of a type, 0: of any),
 * and nobody of 'candidates' (NULL: there are none) but those the daemon
 * decided about: only of these is known what they would lose.  -1 when out of
 * memory.
 */
int egs_candidates_fill(struct egs_candidates *stage, const bitstr_t *nodes,
			egs_list candidates, uint32_t type_id);

/* The same for nobody, where what jobs hold that were asked to leave is free,
 * and GPUs are counted whatever their type.
 */
int egs_candidates_fill_yielding(struct egs_candidates *stage,
				 const bitstr_t *nodes);

#endif
