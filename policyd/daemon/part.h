/* part.h - hooks by which a room above takes part in the daemon's work
 *
 * The daemon calls each hook of each part in the order of the table that
 * egs_daemon_run() received, and stop() in the opposite order.  Any hook may be
 * NULL.  No hook may wait.
 */
#ifndef EGS_DAEMON_PART_H
#define EGS_DAEMON_PART_H

#include "policyd/slurm/worker.h"

struct egs_action;
struct egs_daemon;
struct egs_job_run;
struct egs_preemption;
struct egs_span;
struct egs_usage_kind;

struct egs_held_gpus {
	uint32_t measured, quiet;
};

struct egs_part {
	const char *name;
	/* Make the part's own state.  Only egs.conf is loaded so far. */
	int (*init)(struct egs_daemon *d, struct egs_err *err);
	/* Load the state that an earlier daemon saved.  The store is open. */
	int (*restore)(struct egs_daemon *d, struct egs_err *err);
	/* Start work.  The loop, the worker and the policy exist. */
	int (*start)(struct egs_daemon *d, struct egs_err *err);
	/* The daemon stops in order: write what memory has. */
	void (*ending)(struct egs_daemon *d);
	/* Free the part's state, which may be half made or missing. */
	void (*stop)(struct egs_daemon *d);
	/* Once a second. */
	void (*tick)(struct egs_daemon *d);
	/* A poll has shown all nodes of Slurm. */
	void (*nodes_polled)(struct egs_daemon *d);
	/* Count the GPUs of each node that are measured, and of them those that
	 * a job holds and does not use.  'gpus' is by the number of the node.
	 */
	void (*count_held)(struct egs_daemon *d, struct egs_held_gpus *gpus,
			   uint32_t nnodes);
	/* egs.conf is in force again, or was refused: d->reload. */
	void (*reloaded)(struct egs_daemon *d);
	/* Slurm shows something new about a job. */
	void (*job_seen)(struct egs_daemon *d, const struct egs_job_fact *fact);
	/* A single job was read from Slurm, changed or not. */
	void (*job_read)(struct egs_daemon *d, uint32_t job_id);
	/* Jobs or preemption notices have changed; more changes may follow. */
	void (*jobs_changed)(struct egs_daemon *d);
	/* egs_daemon_update() has carried out and published everything. */
	void (*updated)(struct egs_daemon *d);
	/* The policy asks a job to shrink; only log it unless 'may_act'. */
	void (*shrink_job)(struct egs_daemon *d, const struct egs_action *a,
			   bool may_act);
	/* The policy sees idle GPUs of a job (EGS_ACT_IDLE_*, STALLED); only
	 * record it unless 'may_act'.  The hook applies no event.
	 */
	void (*idle_job)(struct egs_daemon *d, const struct egs_action *a,
			 bool may_act);
	/* job_submit/egs has refused an update of a job. */
	void (*update_refused)(struct egs_daemon *d, uint32_t job_id,
			       const char *reason);
	/* A preemption goes into the store: EGS_ACT_RECORD_*. */
	void (*preemption_recorded)(struct egs_daemon *d,
				    const struct egs_action *a,
				    const struct egs_preemption *p);
	/* The history has on disk: a run has begun; a span of a run is over;
	 * a run has ended; 'metric' of 'scope' adds up to 'amount'
	 * (idle_levels.c).
	 */
	void (*run_began)(struct egs_daemon *d, const struct egs_job_run *run,
			  const struct egs_usage_kind *kind);
	void (*span_ended)(struct egs_daemon *d,
			   const struct egs_usage_kind *kind,
			   const struct egs_span *span);
	void (*run_ended)(struct egs_daemon *d, const struct egs_job_run *run);
	void (*level_ended)(struct egs_daemon *d, const char *scope,
			    const char *metric, uint64_t amount);
	/* The worker answers egs_worker_resize(). */
	void (*resize_step)(struct egs_daemon *d,
			    const struct egs_resize_params *params,
			    enum egs_resize_outcome end, const char *text);
	/* The worker answers egs_worker_drain(). */
	void (*node_drained)(struct egs_daemon *d,
			     const struct egs_drain_params *params,
			     enum egs_drain_outcome outcome, const char *text);
};

/* Call these hooks of all parts.  Functions with an 'err' return 0, or -1 with
 * 'err' set by the first part that fails.
 */
int egs_parts_init(struct egs_daemon *d, struct egs_err *err);
int egs_parts_restore(struct egs_daemon *d, struct egs_err *err);
int egs_parts_start(struct egs_daemon *d, struct egs_err *err);
void egs_parts_stop(struct egs_daemon *d);

/* Call another hook of all parts, as in EGS_PARTS_CALL(d, job_seen, d, fact).
 */
#define EGS_PARTS_CALL(d, hook, ...)                              \
	do {                                                      \
		const struct egs_part *const *part_ = (d)->parts; \
                                                                  \
		for (; part_ && *part_; part_++)                  \
			if ((*part_)->hook)                       \
				(*part_)->hook(__VA_ARGS__);      \
	} while (0)

#endif
