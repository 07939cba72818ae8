/* cluster_internal.h - struct egs_cluster; for the files of cluster/ only */
#ifndef EGS_CLUSTER_CLUSTER_INTERNAL_H
#define EGS_CLUSTER_CLUSTER_INTERNAL_H

#include "common/base/buf.h"
#include "common/base/idmap.h"
#include "common/base/intern.h"
#include "policyd/cluster/cluster.h"

/* What is remembered of a job between two polls. */
struct egs_last_fact {
	uint64_t checksum;     /* of its fact, to detect changes */
	uint32_t last_poll;    /* last poll that showed it */
	uint32_t awaited_poll; /* last poll with a job that depends on it */
	uint32_t restarts;
	uint32_t array_job_id;
	uint32_t user, account, partition, name;
	uint32_t time_limit_s; /* 0: none */
	uint32_t reason;     /* of a pending job, as Slurm names it, 0: none */
	uint32_t dependency; /* jobs that it waits for, 0: none */
	uint32_t depends_on; /* likewise, in Slurm's form */
	uint32_t workload;   /* NAME/STAGE of its hint, 0: none */
	uint32_t phase_gpus;
	uint32_t save_program;	 /* of --ckpt=cmd:, 0: none */
	uint32_t acks;		 /* ranks that must yield, 0: any one */
	uint32_t expected_start; /* Slurm's estimate, 0: none */
	int16_t tier_override;	 /* set by an operator, -1: by the rules */
	int16_t phase_override; /* changed since submission, -1: as submitted */
	uint8_t state;
	uint8_t managed_by; /* enum egs_standing_rule */
	bool in_policy;	    /* the policy knows the job */
};

/* For each type, the GPUs of the node that has the fewest, and of the one that
 * has the most, of the nodes in some partitions.
 */
struct egs_gpus_of_nodes {
	uint32_t fewest[EGS_TYPE_ROWS], most[EGS_TYPE_ROWS];
	const struct egs_policy_conf *conf;
	uint32_t partitions; /* in 'strings' of the cluster */
	uint32_t node_poll;
};

struct egs_cluster {
	struct egs_policy *policy;
	const struct egs_policy_conf *conf;
	const struct egs_cluster_ops *ops;
	void *arg;
	uint32_t poll;
	bool first_poll; /* jobs that run were started unseen */
	struct egs_idmap jobs;
	struct egs_last_fact *last_facts; /* by slot of 'jobs' */
	uint32_t last_facts_cap;
	struct egs_intern strings;	/* of jobs: users, workloads, ... */
	struct egs_intern node_strings; /* of nodes; never dropped */
	struct egs_intern node_names;	/* number of a node: of its name - 1 */
	struct egs_node_info *nodes;
	uint32_t nodes_cap;
	uint32_t node_poll, nodes_reported;
	struct egs_node_alloc *allocs; /* of the job that is being updated */
	uint32_t allocs_cap;
	struct egs_gpus_of_nodes gpus_of_nodes; /* asked last */
	struct egs_buf scratch;
};

/* The event for a fact, without its kind.  Its allocations are borrowed from
 * the cluster.  -1: out of memory.
 */
int egs_cluster_make_event(struct egs_cluster *c,
			   const struct egs_job_fact *fact,
			   struct egs_last_fact *last, struct egs_event *ev);

/* The row of Workload= for a job of 'team' in 'phase' with the hint 'workload',
 * NAME or NAME/STAGE; -1: none.
 */
int egs_cluster_find_workload(const struct egs_cluster *c, const char *workload,
			      int team, int phase);

/* The GPUs of nodes in a list of partitions.  Valid until the next call. */
const struct egs_gpus_of_nodes *
egs_cluster_gpus_of_nodes(struct egs_cluster *c, const char *partitions);

/* The number of a node, which is added if it is new; -1: out of memory. */
int64_t egs_cluster_add_node(struct egs_cluster *c, const char *name);

/* Mark the jobs on which the pending job depends as awaited in this poll.  A
 * job without GPUs does not count for jobs of its own user: it costs nothing.
 */
void egs_cluster_mark_awaited(struct egs_cluster *c,
			      const struct egs_job_fact *f);

#endif
