/* cluster.h - what Slurm shows becomes events of the policy
 *
 * The worker hands facts over; here they are compared with what was seen
 * before, and what changed is told to the policy: a job is new, has started,
 * was requeued, has ended, or vanished between two looks.  Names become the
 * numbers the core works with.
 *
 *	egs_cluster_begin_poll(w)			a look at everything
 *begins egs_cluster_update_job(w, &fact, now)		for each job
 *	egs_cluster_update_node(w, &fact, now)		for each node
 *	egs_cluster_end_poll(w, now)			who was not seen is gone
 *
 * A look at a single job is egs_cluster_update_job() alone, or
 *egs_cluster_job_gone().
 */
#ifndef EGS_CLUSTER_CLUSTER_H
#define EGS_CLUSTER_CLUSTER_H

#include "common/rules/standing.h"
#include "policyd/policy/policy.h"
#include "policyd/slurm/facts.h"
#include "policyd/store/store.h"

struct egs_cluster;

/* What the world asks and tells; all may be NULL. */
struct egs_cluster_ops {
	/* What was kept of a job by an earlier daemon, or NULL. */
	const struct egs_saved_job *(*saved_job)(
		void *arg, const struct egs_identity *job);
	/* This job changed in a way that should be kept; 'ended': forget it. */
	void (*job_changed)(void *arg, const struct egs_identity *job,
			    bool ended);
	/* What Slurm shows of a job, new or changed; it shows it no more. */
	void (*fact_changed)(void *arg, const struct egs_job_fact *fact,
			     egs_time_t now);
	void (*job_gone)(void *arg, uint32_t job_id);
};

/* 'policy' and 'conf' are the caller's and must outlive the world; 'conf' must
 * be the one the policy has.  NULL: out of memory.
 */
struct egs_cluster *egs_cluster_new(struct egs_policy *policy,
				    const struct egs_policy_conf *conf,
				    const struct egs_cluster_ops *ops,
				    void *arg);
void egs_cluster_free(struct egs_cluster *w);

/* Another configuration is in force (the policy was told): names may mean
 * something else, so all facts are looked at anew.
 */
void egs_cluster_set_conf(struct egs_cluster *w,
			  const struct egs_policy_conf *conf);

void egs_cluster_begin_poll(struct egs_cluster *w);
void egs_cluster_end_poll(struct egs_cluster *w, egs_time_t now);

/* Both return 0, or -1 when out of memory: the next look tries again. */
int egs_cluster_update_job(struct egs_cluster *w,
			   const struct egs_job_fact *fact, egs_time_t now);
int egs_cluster_update_node(struct egs_cluster *w,
			    const struct egs_node_fact *fact, egs_time_t now);

/* All nodes were shown, or none because none has changed: one that was not
 * among the others is gone.
 */
void egs_cluster_end_nodes(struct egs_cluster *w, egs_time_t now);

/* Slurm knows no such job any more. */
void egs_cluster_job_gone(struct egs_cluster *w, uint32_t job_id,
			  egs_time_t now);

/* What is known of a job beside the policy's own view; "" where nothing is.
 * Borrowed until the next look.  -1: nobody knows it.
 */
struct egs_job_info {
	uint32_t state;		   /* enum egs_job_state */
	uint32_t array_job_id;	   /* 0: no array */
	egs_time_t expected_start; /* start of a pending job by Slurm's own
				    * estimate, 0: it has none */
	const char *user, *account;
	const char *tier_override; /* set by an operator, "": by the rules */
	const char *
		phase_override; /* changed since submission, "": as submitted */
	const char *save_program; /* of --ckpt=cmd:, "": none */
	uint32_t acks; /* ranks that answer a request, 0: any one does */
	enum egs_standing_rule managed_by;
};
int egs_cluster_lookup(const struct egs_cluster *w, uint32_t job_id,
		       struct egs_job_info *known);

/* An operator gives a job another tier, or it changes its phase; "" undoes
 * that.  -1: nobody knows the job, or there is no such tier or phase.
 */
int egs_cluster_set_tier(struct egs_cluster *w, uint32_t job_id,
			 const char *tier, egs_time_t now);
int egs_cluster_set_phase(struct egs_cluster *w, uint32_t job_id,
			  const char *phase, egs_time_t now);

/* The GPUs a job that holds 'job->gpus' wants in 'phase', a row of the
 * configuration: by its --phase-gpus, else its workload's record, else that of
 * the phase.  As many as it holds if nobody speaks, or not against it.
 */
uint32_t egs_cluster_gpus_for_phase(const struct egs_cluster *w,
				    const struct egs_job *job, int phase);

/* Nodes by the number the policy knows them by; NULL: no such number. */
struct egs_node_info {
	const char *name;
	const char *type; /* of its GPUs */
	const char *partitions;
	const char *address; /* NodeAddr: a name or a number */
	const char *features;
	uint32_t gpus, gpus_used, cpus, cpus_used;
	uint64_t mem_mb, mem_used_mb;
	uint32_t last_poll; /* the last that showed nodes, and this one */
	bool up, reserved;
	bool gone; /* Slurm knows it no more */
};
const struct egs_node_info *egs_cluster_get_node(const struct egs_cluster *w,
						 uint32_t number);

/* The number of a node by its name, -1: nobody knows it. */
int64_t egs_cluster_find_node(const struct egs_cluster *w, const char *name);

/* GPUs of each type of 'conf', which need not be in force, down nodes included.
 */
void egs_cluster_count_gpus(const struct egs_cluster *w,
			    const struct egs_policy_conf *conf,
			    uint32_t capacity[EGS_TYPE_ROWS]);

#endif
