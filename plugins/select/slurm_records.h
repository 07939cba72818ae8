/* slurm_records.h - GPUs, cores and memory in the records of Slurm
 *
 * What a job needs on a node, what a node has free, what a job holds there.
 * These are estimates that pick what to ask cons_tres about, which knows of
 * sockets, threads and everything else and has the last word.  Cores are what
 * Slurm calls CPUs.
 *
 * To be called with Slurm's job and node locks held, as the functions of a
 * select plugin are.
 */
#ifndef EGS_SELECT_SLURM_RECORDS_H
#define EGS_SELECT_SLURM_RECORDS_H

#include "common/rules/victims.h"
#include "plugins/compat/compat.h"

/* GPUs of which type: Slurm's number for it, 0 for any. */
struct egs_job_need {
	struct egs_need need; /* its 'type' is EGS_TYPE_ANY: see type_id */
	uint32_t type_id;
};

/* What 'job' needs if it gets 'min_nodes' or more of 'nodes'.  False if that
 * cannot be said per node: GPUs of several types, or by socket.  A job without
 * GPUs needs 0 of them.
 */
bool egs_slurm_records_need(const job_record_t *job, const bitstr_t *nodes,
			    uint32_t min_nodes, struct egs_job_need *want);

/* Its GPUs alone, as if a node could have as many as it likes. */
bool egs_slurm_records_gpu_need(const job_record_t *job, uint32_t min_nodes,
				struct egs_job_need *want);

/* What a node has as a whole, and what no job holds of its GPUs. */
struct egs_search_node egs_slurm_records_node(const node_record_t *node,
					      uint32_t type_id);

/* The free GPUs of a node. */
uint32_t egs_slurm_records_free_gpus(const node_record_t *node,
				     uint32_t type_id);

/* What 'job' holds on its 'at'th node, which is 'node'. */
struct egs_allocation egs_slurm_records_allocation(const job_record_t *job,
						   uint32_t at,
						   const node_record_t *node,
						   uint32_t type_id);

#endif
