/* cluster_internal.h - the inside of the world; for its own files only */
#ifndef EGS_CLUSTER_CLUSTER_INTERNAL_H
#define EGS_CLUSTER_CLUSTER_INTERNAL_H

#include "common/base/buf.h"
#include "common/base/idmap.h"
#include "common/base/intern.h"
#include "policyd/cluster/cluster.h"

/* What is remembered of a job between two looks. */
struct egs_last_fact {
	uint64_t checksum;     /* over its facts: the same means unchanged */
	uint32_t last_poll;    /* the last one that showed it */
	uint32_t awaited_poll; /* the last one with a job that waits on it */
	uint32_t restarts;
	uint32_t array_job_id;
	uint32_t user, account;
	uint32_t workload; /* NAME/STAGE as its hint has it, 0: none */
	uint32_t phase_gpus;
	uint32_t save_program;	 /* of --ckpt=cmd:, 0: none */
	uint32_t acks;		 /* ranks that answer a request, 0: any one */
	uint32_t expected_start; /* its start, by Slurm; 0: not pending or
				    unknown */
	int16_t tier_override;	 /* set by an operator, -1: by the rules */
	int16_t phase_override; /* changed since submission, -1: as submitted */
	uint8_t state;
	uint8_t managed_by; /* enum egs_standing_rule */
	bool in_policy;	    /* the policy was told */
};

struct egs_cluster {
	struct egs_policy *policy;
	const struct egs_policy_conf *conf;
	const struct egs_cluster_ops *ops;
	void *arg;
	uint32_t poll;
	bool first_poll; /* look: what runs was running before us */
	struct egs_idmap jobs;
	struct egs_last_fact *last_facts; /* by slot of 'jobs' */
	uint32_t last_facts_cap;
	struct egs_intern strings; /* users and accounts */
	struct egs_intern
		node_names; /* a node's number is that of its name - 1 */
	struct egs_node_info *nodes;
	uint32_t nodes_cap;
	uint32_t node_poll, nodes_reported;
	struct egs_node_alloc *allocs; /* room for the parts of one job */
	uint32_t allocs_cap;
	struct egs_buf scratch;
};

/* The event that tells the policy of a job, without its kind.  Parts are
 * borrowed from the world.  -1: out of memory.
 */
int egs_cluster_make_event(struct egs_cluster *w,
			   const struct egs_job_fact *fact,
			   struct egs_last_fact *seen, struct egs_event *ev);

/* The row of Workload= for a job of 'team' in 'phase' that says 'workload',
 * which is NAME or NAME/STAGE; -1: none.
 */
int egs_cluster_find_workload(const struct egs_cluster *w, const char *workload,
			      int team, int phase);

/* The number of a node by its name, made if it is new; -1: out of memory. */
int64_t egs_cluster_add_node(struct egs_cluster *w, const char *name);

/* Mark the jobs that the dependency 'text' names as waited for in this look. */
void egs_cluster_mark_awaited(struct egs_cluster *w, const char *text);

#endif
