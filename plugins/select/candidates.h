/* candidates.h - nodes and possible victims of one job_test
 *
 * The input of common/rules/victims.h, filled from Slurm's records.  Memory is
 * reused by the next test.
 */
#ifndef EGS_SELECT_CANDIDATES_H
#define EGS_SELECT_CANDIDATES_H

#include "common/rules/take_rule.h"
#include "plugins/select/slurm_records.h"

/* 'job' has the order of search.candidate. */
struct egs_candidates {
	struct egs_victim_search search;
	job_record_t **job;		       /* of each candidate */
	const struct egs_take_view *requester; /* borrowed, for the call */
	uint32_t type_id;
	/* private: */
	uint32_t *slot_of_node; /* by node: index in search.node + 1, 0: none */
	struct egs_allocation *unsorted;
	uint32_t node_room, slot_room, candidate_room, allocation_room,
		unsorted_room;
	uint32_t nunsorted;
};

/* Fill in 'nodes' with what is free there (GPUs of a type, 0: of any).  Add the
 * jobs of 'candidates' as victims of 'requester', if the daemon decided about
 * them: for other jobs the cost of a preemption is unknown.  -1 when out of
 * memory.
 */
int egs_candidates_fill(struct egs_candidates *s, const bitstr_t *nodes,
			egs_list candidates,
			const struct egs_take_view *requester,
			uint32_t type_id);

/* Likewise without candidates.  Resources of jobs that are being preempted
 * count as free, and GPUs of all types count.
 */
int egs_candidates_fill_yielding(struct egs_candidates *s,
				 const bitstr_t *nodes);

#endif
