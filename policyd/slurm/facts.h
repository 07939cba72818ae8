/* facts.h - what Slurm shows of a job or a node, at one poll
 *
 * Plain C without Slurm's types, so that the daemon, its tests and the worker
 * process agree on it in every version of Slurm.  Strings are borrowed for the
 * duration of the callback that delivers the fact; NULL is "none".
 */
#ifndef EGS_SLURM_FACTS_H
#define EGS_SLURM_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/hint/gpu_count.h"

enum egs_job_state {
	EGS_JOB_PENDING,
	EGS_JOB_RUNNING, /* also while its nodes are configured */
	EGS_JOB_SUSPENDED,
	EGS_JOB_ENDED,
};

enum {
	EGS_FACT_COMPLETING = 1, /* slurmd is ending its processes */
	EGS_FACT_BATCH = 2,	 /* has a script; only such jobs are requeued */
	EGS_FACT_REQUEUE = 4,	 /* not submitted with --no-requeue */
	EGS_FACT_EXCLUSIVE = 8,	 /* requests or has whole nodes */
	EGS_FACT_HELD = 16,
	EGS_FACT_BLOCKED = 32,	   /* waits for resources, priority or limits */
	EGS_FACT_DEPENDENT = 64,   /* waits for other jobs */
	EGS_FACT_LIMITED = 128,	   /* blocked by a limit, not by resources */
	EGS_FACT_NO_PREEMPT = 256, /* running, and its partition has
				    * PreemptMode=OFF */
	EGS_FACT_HELD_BY_ADMIN = 512, /* its owner may not release it */
};

struct egs_job_fact {
	uint32_t job_id;
	uint32_t array_job_id; /* 0: not an array */
	uint32_t task;	       /* EGS_NO_TASK: not an element of an array */
	uint32_t het;	       /* offset in its het job, else 0 */
	uint32_t het_job;      /* id of its het job, 0: none */
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
	uint64_t resize_time;  /* last change of its allocation, 0: never */
	uint64_t suspend_time; /* last suspended or resumed, 0: never */
	uint64_t ran_before_s; /* its run time before suspend_time */
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
	const char *nodes;     /* as Slurm writes it: n[1-4] */
	const char *end_state; /* of an ended job: COMPLETED, CANCELLED, ... */
	const char *node_filter; /* of a pending job: see node_filter.h */
	/* GPUs allocated, or requested while the job is pending. */
	struct egs_gpu_count gpus;
	/* The allocation on each node, for egs_fact_get_alloc(). */
	struct egs_buf_reader allocs;
};

/* What a job has on one node. */
struct egs_fact_alloc {
	const char *node;
	uint32_t gpus, cpus;
	uint64_t gpu_set; /* numbers of its GPUs as bits, 0: unknown */
};

enum {
	EGS_NODE_DOWN = 1, /* down, drained, not responding: gets no job */
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

/* Memory in MB of a TRES text such as "cpu=2,mem=7.5G,node=1"; 0 without. */
uint64_t egs_fact_parse_mem_mb(const char *tres);

/* Append a fact; the buffer remembers failures. */
void egs_fact_put_job(struct egs_buf *buf, const struct egs_job_fact *fact);
void egs_fact_put_node(struct egs_buf *buf, const struct egs_node_fact *fact);

/* Append the allocation on one node to 'buf', whose bytes become the fact's
 * 'allocs'.
 */
void egs_fact_put_alloc(struct egs_buf *buf,
			const struct egs_fact_alloc *alloc);

/* Read the next allocation; false at the end. */
bool egs_fact_get_alloc(struct egs_buf_reader *allocs,
			struct egs_fact_alloc *alloc);

/* Read a fact; its strings are borrowed from the bytes.  -1 if the bytes are
 * not a fact.
 */
int egs_fact_get_job(struct egs_buf_reader *in, struct egs_job_fact *fact);
int egs_fact_get_node(struct egs_buf_reader *in, struct egs_node_fact *fact);

#endif
