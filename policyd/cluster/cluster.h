/* cluster.h - what Slurm shows becomes events of the policy
 *
 * The worker delivers facts.  They are compared with the last poll, and changes
 * become events: a job is new, has started, was requeued, has ended, or has
 * vanished.  Names become the numbers that the policy works with.
 *
 *	egs_cluster_begin_poll(c)		a poll of all jobs begins
 *	egs_cluster_update_job(c, &fact, now)	for each job
 *	egs_cluster_update_node(c, &fact, now)	for each node
 *	egs_cluster_end_poll(c, now)		other jobs are gone
 *
 * After reading a single job: egs_cluster_update_job() alone, or
 * egs_cluster_job_gone().
 */
#ifndef EGS_CLUSTER_CLUSTER_H
#define EGS_CLUSTER_CLUSTER_H

#include "common/conf/judge.h"
#include "common/rules/standing.h"
#include "policyd/cluster/dependency.h"
#include "policyd/policy/policy.h"
#include "policyd/slurm/facts.h"
#include "policyd/store/store.h"

struct egs_cluster;

/* Callbacks; each may be NULL. */
struct egs_cluster_ops {
	/* What an earlier daemon saved of a job, or NULL. */
	const struct egs_saved_job *(*saved_job)(
		void *arg, const struct egs_identity *job);
	/* The job changed and must be saved; 'ended': it may be forgotten. */
	void (*job_changed)(void *arg, const struct egs_identity *job,
			    bool ended);
	/* A fact is new or has changed; Slurm does not show the job any more.
	 */
	void (*fact_changed)(void *arg, const struct egs_job_fact *fact,
			     egs_time_t now);
	void (*job_gone)(void *arg, uint32_t job_id);
};

/* 'policy' and 'conf' must outlive the cluster; 'conf' must be the policy's.
 * NULL: out of memory.
 */
struct egs_cluster *egs_cluster_new(struct egs_policy *policy,
				    const struct egs_policy_conf *conf,
				    const struct egs_cluster_ops *ops,
				    void *arg);
void egs_cluster_free(struct egs_cluster *c);

/* Use another configuration, which the policy has already.  The next poll
 * applies all facts again.
 */
void egs_cluster_set_conf(struct egs_cluster *c,
			  const struct egs_policy_conf *conf);

void egs_cluster_begin_poll(struct egs_cluster *c);
void egs_cluster_end_poll(struct egs_cluster *c, egs_time_t now);

/* Both return 0, or -1 without memory: the next poll tries again. */
int egs_cluster_update_job(struct egs_cluster *c,
			   const struct egs_job_fact *fact, egs_time_t now);
int egs_cluster_update_node(struct egs_cluster *c,
			    const struct egs_node_fact *fact, egs_time_t now);

/* End of the nodes of a poll.  If any was shown, nodes that were not shown are
 * gone; if none was shown, nothing has changed.
 */
void egs_cluster_end_nodes(struct egs_cluster *c, egs_time_t now);

/* Slurm does not know this job. */
void egs_cluster_job_gone(struct egs_cluster *c, uint32_t job_id,
			  egs_time_t now);

/* What the cluster, not the policy, knows of a job; "": none.  Borrowed until
 * the next poll.  -1: unknown job.
 */
struct egs_job_info {
	uint32_t state;		   /* enum egs_job_state */
	uint32_t array_job_id;	   /* 0: not an array */
	egs_time_t expected_start; /* Slurm's estimate for a pending job, 0:
				    * none
				    */
	const char *user, *account, *partition, *name;
	egs_time_t time_limit_s;   /* 0: none */
	const char *reason;	   /* Slurm's, of a pending job */
	const char *dependency;	   /* "job 12 (afterok)" that it waits for */
	const char *depends_on;	   /* likewise, for egs_dependency_next() */
	const char *workload;	   /* NAME or NAME/STAGE of its hint */
	const char *tier_override; /* set by an operator, "": by the rules */
	const char *
		phase_override; /* changed since submission, "": as submitted */
	const char *save_program; /* of --ckpt=cmd:, "": none */
	uint32_t acks;		  /* ranks that must yield, 0: any one */
	enum egs_standing_rule managed_by;
};
int egs_cluster_lookup(const struct egs_cluster *c, uint32_t job_id,
		       struct egs_job_info *info);

/* Override the tier (by an operator) or the phase (by the job); "" ends the
 * override.  -1: unknown job, tier or phase.
 */
int egs_cluster_set_tier(struct egs_cluster *c, uint32_t job_id,
			 const char *tier, egs_time_t now);
int egs_cluster_set_phase(struct egs_cluster *c, uint32_t job_id,
			  const char *phase, egs_time_t now);

/* The number of GPUs for 'job' in 'phase', a row of the configuration: by its
 * --phase-gpus, else by the record of its workload, else by the record of the
 * phase.  A record is a range: the number is the present one, moved into it.
 */
uint32_t egs_cluster_gpus_for_phase(const struct egs_cluster *c,
				    const struct egs_job *job, int phase);

/* A node by its number in the policy; NULL: no such number. */
struct egs_node_info {
	const char *name;
	const char *type;  /* of its GPUs, or of most of them */
	const char *mixed; /* all its types, "gpu:a100:2,gpu:h100:2"; NULL: it
			    * has one */
	const char *partitions;
	const char *address; /* NodeAddr: a name or a number */
	const char *features;
	uint32_t gpus, gpus_used, cpus, cpus_used;
	uint64_t mem_mb, mem_used_mb;
	uint32_t last_poll; /* last poll of nodes that showed it */
	bool up, reserved;
	bool gone; /* Slurm does not know it any more */
};
const struct egs_node_info *egs_cluster_get_node(const struct egs_cluster *c,
						 uint32_t number);

/* The number of a node by its name, -1: unknown. */
int64_t egs_cluster_find_node(const struct egs_cluster *c, const char *name);

/* Add all nodes and their GPUs to 'to'. */
void egs_cluster_describe(const struct egs_cluster *c,
			  struct egs_judge_cluster *to);

/* GPUs of each type of 'conf', which may be a new configuration.  Nodes that
 * are down count.
 */
void egs_cluster_count_gpus(const struct egs_cluster *c,
			    const struct egs_policy_conf *conf,
			    uint32_t capacity[EGS_TYPE_ROWS]);

#endif
