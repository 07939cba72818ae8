/* cluster_internal.h - the inside of the world; for its own files only */
#ifndef EGS_CLUSTER_CLUSTER_INTERNAL_H
#define EGS_CLUSTER_CLUSTER_INTERNAL_H

#include "common/base/buf.h"
#include "common/base/idmap.h"
#include "common/base/intern.h"
#include "policyd/cluster/cluster.h"

/* What is remembered of a job between two looks. */
struct egs_seen {
	uint64_t sum;	 /* over its facts: the same means unchanged */
	uint32_t look;	 /* the last one that showed it */
	uint32_t waited; /* the last one with a job that waits on it */
	uint32_t restarts;
	uint32_t array_job_id;
	uint32_t user, account;
	uint32_t workload; /* NAME/STAGE as its hint has it, 0: none */
	uint32_t phase_gpus;
	uint32_t program;  /* of --ckpt=cmd:, 0: none */
	uint32_t acks;	   /* ranks that answer a request, 0: any one */
	uint32_t expected; /* its start, by Slurm; 0: not pending or unknown */
	int16_t tier;	   /* set by an operator, -1: by the rules */
	int16_t phase;	   /* changed since submission, -1: as submitted */
	uint8_t state;
	uint8_t by; /* enum egs_managed_by */
	bool known; /* the policy was told */
};

struct egs_world {
	struct egs_policy *policy;
	const struct egs_policy_conf *conf;
	const struct egs_world_ops *ops;
	void *arg;
	uint32_t look;
	bool first; /* look: what runs was running before us */
	struct egs_idmap jobs;
	struct egs_seen *seen; /* by slot of 'jobs' */
	uint32_t nseen;
	struct egs_names people; /* users and accounts */
	struct egs_names hosts;	 /* a node's number is that of its name - 1 */
	struct egs_known_node *node;
	uint32_t nnodes;
	uint32_t node_look, nodes_shown;
	struct egs_part *part; /* room for the parts of one job */
	uint32_t nparts;
	struct egs_buf scratch;
};

/* The event that tells the policy of a job, without its kind.  Parts are
 * borrowed from the world.  -1: out of memory.
 */
int egs_world_event(struct egs_world *w, const struct egs_job_fact *fact,
		    struct egs_seen *seen, struct egs_event *ev);

/* The row of Workload= for a job of 'team' in 'phase' that says 'workload',
 * which is NAME or NAME/STAGE; -1: none.
 */
int egs_world_workload(const struct egs_world *w, const char *workload,
		       int team, int phase);

/* The number of a node by its name, made if it is new; -1: out of memory. */
int64_t egs_world_node_number(struct egs_world *w, const char *name);

/* Mark the jobs that the dependency 'text' names as waited for in this look. */
void egs_world_wait_on(struct egs_world *w, const char *text);

#endif
