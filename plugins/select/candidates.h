/* candidates.h - the nodes and candidates of one job_test, for core's choice
 *
 * Filled from Slurm's records into memory that is kept for the next time.
 */
#ifndef EGS_SELECT_CANDIDATES_H
#define EGS_SELECT_CANDIDATES_H

#include "plugins/select/slurm_records.h"

/* Candidates in the scene, in the order of egs_scene.cand. */
struct egs_stage {
	struct egs_scene scene;
	job_record_t **job; /* of each candidate */
	uint32_t type_id;
	/* used inside: */
	uint32_t *place_of; /* by node: place + 1, 0 none */
	struct egs_hold *loose;
	uint32_t node_room, place_room, cand_room, hold_room, loose_room;
	uint32_t nloose;
};

/* Put 'nodes' on the stage with what is free there (GPUs of a type, 0: of any),
 * and nobody of 'candidates' (NULL: there are none) but those the daemon
 * decided about: only of these is known what they would lose.  -1 when out of
 * memory.
 */
int egs_stage_set(struct egs_stage *stage, const bitstr_t *nodes,
		  egs_list candidates, uint32_t type_id);

/* The same for nobody, where what jobs hold that were asked to leave is free,
 * and GPUs are counted whatever their type.
 */
int egs_stage_set_leaving(struct egs_stage *stage, const bitstr_t *nodes);

#endif
