/* slurm_records.h - GPUs, cores and memory in the records of Slurm
 *
 * These functions compute what a job needs on a node, what a node has free, and
 * what a job holds there.  The results are estimates to choose what to test.
 * cons_tres knows sockets, threads and everything else, and decides.  "Cores"
 * are Slurm's CPUs.
 *
 * Call them with slurmctld's job and node locks held, as in any function of a
 * select plugin.
 */
#ifndef EGS_SELECT_SLURM_RECORDS_H
#define EGS_SELECT_SLURM_RECORDS_H

#include "common/rules/victims.h"
#include "plugins/compat/compat.h"

/* 'type_id' is Slurm's id of the GPU type, 0: any. */
struct egs_job_need {
	struct egs_need need; /* with EGS_TYPE_ANY: type_id counts */
	uint32_t type_id;
};

/* Compute what 'job' needs if it gets at least 'min_nodes' of 'nodes'.  False
 * if that cannot be converted per node: GPUs of several types, or by socket.  A
 * job without GPUs needs 0.
 */
bool egs_slurm_records_need(const job_record_t *job, const bitstr_t *nodes,
			    uint32_t min_nodes, struct egs_job_need *want);

/* Likewise for GPUs alone, for nodes with any number of GPUs. */
bool egs_slurm_records_gpu_need(const job_record_t *job, uint32_t min_nodes,
				struct egs_job_need *want);

/* All cores and memory of a node, and its free GPUs. */
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

/* Did a test that has succeeded select the GPUs of the job?  A test for a later
 * time selects nodes only: enough for a job that gets whole nodes.
 */
bool egs_slurm_records_has_selected(const struct egs_job_test *test);

/* All GPUs, of all types, that the job of such a test would get. */
uint32_t egs_slurm_records_selected_gpus(const struct egs_job_test *test);

/* The i-th component of the heterogeneous job that 'job' belongs to, 'job'
 * itself included; NULL: there are no more.  Slurm gives components ids in a
 * row.  The list in the first one is not used: slurmctld may have locked it.
 */
const job_record_t *egs_slurm_records_component(const job_record_t *job,
						uint32_t i);

/* All GPUs that a running job holds, of all types. */
uint32_t egs_slurm_records_held_gpus(const job_record_t *job);

#endif
