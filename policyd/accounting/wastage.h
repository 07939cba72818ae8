/* wastage.h - idle resources while earning jobs are blocked, and the cause
 *
 * Input, at one instant: nodes with their idle resources, and the blocked jobs
 * that earn, in the order of the queue.  Each idle GPU (or core) is charged to
 * the first job that could use it, and no job with more than it requests.  The
 * cause is the first of these that is true:
 *
 *	unhealthy	the node is down, drained or does not answer
 *	reservation	the node is reserved
 *	constraint	the job may not use its partition, or excludes the node
 *	quota		the job waits for a quota or a limit, not for GPUs
 *	gang		all idle GPUs together are fewer than the job requests
 *	teardown	the idle GPUs are still being cleaned up
 *	stranded	the GPUs lack idle cores or memory on their node
 *	fragmentation	enough GPUs are idle, but spread over nodes
 *	latency		the job would fit: Slurm has not started it yet
 *
 * A job that could use several nodes is charged with those whose cause is last
 * in this list: it would get those next.
 */
#ifndef EGS_ACCOUNTING_WASTAGE_H
#define EGS_ACCOUNTING_WASTAGE_H

#include "common/conf/policy_conf.h"

enum egs_wastage_cause {
	EGS_CAUSE_UNHEALTHY,
	EGS_CAUSE_RESERVATION,
	EGS_CAUSE_CONSTRAINT,
	EGS_CAUSE_QUOTA,
	EGS_CAUSE_GANG,
	EGS_CAUSE_TEARDOWN,
	EGS_CAUSE_STRANDED,
	EGS_CAUSE_FRAGMENTATION,
	EGS_CAUSE_LATENCY,
	EGS_CAUSES
};

/* "unhealthy", ... */
const char *egs_wastage_cause_name(enum egs_wastage_cause cause);

/* Partitions are bits.  Further partitions share the last bit. */
#define EGS_PARTITIONS_MAX 64

enum egs_resource { EGS_GPUS, EGS_CORES, EGS_RESOURCES };

struct egs_idle_node {
	uint32_t all[EGS_RESOURCES];
	uint32_t idle[EGS_RESOURCES];	  /* held by no running job */
	uint32_t cleaning[EGS_RESOURCES]; /* of them: being cleaned up */
	uint32_t mem_mb;		  /* free */
	uint64_t partitions;
	uint8_t type; /* of its GPUs */
	bool up, reserved;
	uint32_t left; /* scratch of egs_wastage_compute() */
	uint8_t cause; /* likewise */
};

/* A blocked job that earns; its request is per node. */
struct egs_blocked_job {
	uint32_t nodes;
	uint32_t want[EGS_RESOURCES];
	uint32_t mem_mb;
	uint64_t partitions;	      /* at least one */
	const uint64_t *wanted_nodes; /* bits of nodes, NULL: any */
	uint8_t type;		      /* EGS_TYPE_ANY: any */
	bool limited;		      /* waits for a quota or a limit */
};

/* Counts of the cluster, of a type or of a partition. */
struct egs_wastage_counts {
	uint64_t all, idle;
	uint64_t by_cause[EGS_CAUSES]; /* wasted */
	/* Some are idle, healthy and not reserved, and a blocked job could
	 * use them, whether it is charged with them or not.
	 */
	bool available;
	bool would_fit; /* such a job would fit */
};

struct egs_wastage_compute {
	struct egs_wastage_counts total;
	struct egs_wastage_counts type[EGS_TYPE_ROWS];
	/* Waste counts for the first partition of the job that is charged.
	 * 'all' and 'idle' count for every partition of the node.
	 */
	struct egs_wastage_counts partition[EGS_PARTITIONS_MAX];
};

/* Compute the waste of GPUs or of cores. */
void egs_wastage_compute(struct egs_wastage_compute *out,
			 enum egs_resource what, struct egs_idle_node *node,
			 uint32_t nnodes, const struct egs_blocked_job *job,
			 uint32_t njobs);

/* Waste of all causes. */
uint64_t egs_wastage_sum(const struct egs_wastage_counts *w);

#endif
