/* wastage.h - what stands idle while earning jobs are blocked, and why
 *
 * At one instant: the nodes with what is idle on them, and the blocked jobs
 * that earn, the one that comes first in the queue first.  Each idle GPU (or
 * core) is charged to the first of them that could use it, no job with more
 * than it wants, and the cause is the first of these that is true:
 *
 *	unhealthy	the node is down, drained or does not answer
 *	reservation	it is reserved
 *	constraint	the job may not use its partition, or rules the node out
 *	quota		the job waits for a quota or a limit, not for GPUs
 *	gang		all that is idle together is less than the job wants
 *	teardown	what is idle is still being cleaned up
 *	stranded	there are GPUs, but no cores or no memory with them
 *	fragmentation	there are enough, but not side by side
 *	latency		it would fit: Slurm has not started it yet
 *
 * A job that could take several is charged with those that come last in this
 * list: they are what it would get next.
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

/* Partitions are bits; those beyond are all the last one. */
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
	uint32_t left; /* for the reckoning alone */
	uint8_t cause; /* likewise */
};

/* A blocked job that earns; what it wants is per node. */
struct egs_blocked_job {
	uint32_t nodes;
	uint32_t want[EGS_RESOURCES];
	uint32_t mem_mb;
	uint64_t partitions;	      /* one at least */
	const uint64_t *wanted_nodes; /* bits of nodes it wants, NULL: any */
	uint8_t type;		      /* EGS_TYPE_ANY: any */
	bool limited;		      /* it waits for a quota or a limit */
};

/* Of all, of a type or of a partition. */
struct egs_wastage_counts {
	uint64_t all, idle;
	uint64_t by_cause[EGS_CAUSES]; /* wasted */
	/* Some are idle, neither unhealthy nor reserved, and a job is blocked
	 * that could use them, charged with them or not.
	 */
	bool available;
	bool would_fit; /* such a job would have fitted */
};

struct egs_wastage_compute {
	struct egs_wastage_counts total;
	struct egs_wastage_counts type[EGS_TYPE_ROWS];
	/* What is wasted is with the first partition of the job it is charged
	 * to; 'all' and 'idle' are those of its nodes.
	 */
	struct egs_wastage_counts partition[EGS_PARTITIONS_MAX];
};

/* Reckon it for GPUs or for cores. */
void egs_wastage_compute(struct egs_wastage_compute *out,
			 enum egs_resource what, struct egs_idle_node *node,
			 uint32_t nnodes, const struct egs_blocked_job *job,
			 uint32_t njobs);

/* All that is wasted. */
uint64_t egs_wastage_sum(const struct egs_wastage_counts *w);

#endif
