/* facts.h - what Slurm shows of a job or a node, at one look
 *
 * Plain C without Slurm's types, so that the daemon, its tests and the worker
 * process agree on it whatever the version of Slurm.  Strings are borrowed
 * for as long as the call that hands a fact over; NULL is "none".
 */
#ifndef EGS_SLURM_FACTS_H
#define EGS_SLURM_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/hint/gpu_count.h"

/* In the AdminComment of a job: it is requeued to run with another number of
 * GPUs, on all of its nodes, which stands behind.
 */
#define EGS_NEXT_GPUS_TAG "egs-next:"

/* Likewise of a helper, which queues for more GPUs of a job: the id of that. */
#define EGS_HELPER_TAG "egs-helper:"

enum egs_job_state {
	EGS_JOB_PENDING,
	EGS_JOB_RUNNING, /* also while it is configured */
	EGS_JOB_SUSPENDED,
	EGS_JOB_ENDED,
};

enum {
	EGS_FACT_COMPLETING = 1, /* its processes are being ended */
	EGS_FACT_BATCH = 2,	 /* has a script, so it can be requeued, */
	EGS_FACT_REQUEUE = 4,	 /* unless its owner said --no-requeue */
	EGS_FACT_EXCLUSIVE = 8,	 /* wants or has whole nodes */
	EGS_FACT_HELD = 16,
	EGS_FACT_BLOCKED = 32,	 /* waits for resources, priority or limits */
	EGS_FACT_DEPENDENT = 64, /* waits for other jobs */
	EGS_FACT_LIMITED = 128	 /* blocked by a limit, not for resources */
};

struct egs_job_fact {
	uint32_t job_id;
	uint32_t array_job_id; /* 0: no array */
	uint32_t task;	       /* EGS_NO_TASK: no element of an array */
	uint32_t het;	       /* offset, 0 */
	uint32_t uid;
	uint32_t restarts;
	uint32_t state; /* enum egs_job_state */
	uint32_t flags; /* EGS_FACT_* */
	uint32_t priority;
	uint32_t time_limit_s; /* 0: none */
	uint32_t nnodes;
	uint32_t ntasks;
	uint32_t cpus;
	uint64_t mem_mb; /* on all of its nodes */
	uint64_t submit, eligible, start, end, preempt_time;
	uint64_t resize_time;  /* its allocation last changed, 0: never */
	uint64_t suspend_time; /* last suspended or resumed, 0: never */
	uint64_t ran_before_s; /* what it had run until then */
	const char *user;
	const char *groups; /* of the user, "a,b" */
	const char *account;
	const char *partition; /* may be a list while it is pending */
	const char *qos;
	const char *name;
	const char *admin_comment;
	const char *comment;
	const char *reason;
	const char *dependency;
	const char *nodes;	 /* as Slurm writes it: n[1-4] */
	const char *end_state;	 /* it ended: COMPLETED, CANCELLED, ... */
	const char *node_filter; /* it waits: see where.h */
	/* What it holds, or asks for while it is pending. */
	struct egs_gpu_count gpus;
	/* What it holds node by node, for egs_fact_get_alloc(). */
	struct egs_buf_reader allocs;
};

/* What a job holds on one node. */
struct egs_fact_alloc {
	const char *node;
	uint32_t gpus, cpus;
};

enum {
	EGS_NODE_DOWN = 1, /* down, drained, not responding: takes no job */
	EGS_NODE_RESERVED = 2,
};

struct egs_node_fact {
	uint32_t flags;
	uint32_t cpus, cpus_used;
	uint64_t mem_mb, mem_used_mb;
	const char *name;
	const char *partitions;
	const char *address;  /* NodeAddr: a name or a number */
	const char *features; /* "a,b" */
	struct egs_gpu_count gpus, gpus_used;
};

/* The job that this one is the helper of, 0: of none. */
uint32_t egs_fact_helped_job(const struct egs_job_fact *fact);

/* Write a fact; the buffer remembers failures. */
void egs_fact_put_job(struct egs_buf *buf, const struct egs_job_fact *fact);
void egs_fact_put_node(struct egs_buf *buf, const struct egs_node_fact *fact);

/* A part behind what is in 'buf', whose bytes become the fact's 'parts'; and
 * the next of them: false when there is none.
 */
void egs_fact_put_alloc(struct egs_buf *buf, const struct egs_fact_alloc *part);
bool egs_fact_get_alloc(struct egs_buf_reader *parts,
			struct egs_fact_alloc *part);

/* Read one, its strings borrowed from the bytes.  -1 if they are no fact. */
int egs_fact_get_job(struct egs_buf_reader *in, struct egs_job_fact *fact);
int egs_fact_get_node(struct egs_buf_reader *in, struct egs_node_fact *fact);

#endif
