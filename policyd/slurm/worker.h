/* worker.h - libslurm in a process of its own
 *
 * A call of libslurm may block for ten seconds and may exit() its process.  So
 * the daemon sends requests to a worker process and continues; answers arrive
 * as callbacks from the loop.  One request is under way at a time, the others
 * wait (worker_queue.h).
 *
 * A worker that dies, or is silent for longer than any call takes, is replaced.
 * Its request is reported as failed.  Slurm may have carried it out, and the
 * next poll shows that.
 *
 * The daemon itself calls three functions of libslurm, which read no file, send
 * nothing and never exit: slurm_hostlist_create(), slurm_hostlist_find() and
 * slurm_hostlist_destroy() (node_filter.c).
 */
#ifndef EGS_SLURM_WORKER_H
#define EGS_SLURM_WORKER_H

#include "common/base/loop.h"
#include "common/hint/stamp.h"
#include "policyd/slurm/facts.h"

struct egs_worker;

/* How a poll of all jobs and nodes ended. */
struct egs_poll_result {
	bool ok;
	bool unchanged;		  /* ok, and no job was delivered */
	bool full;		  /* everything was read again */
	uint32_t slurmctld_ms;	  /* time that slurmctld took */
	const char *error;	  /* NULL: none */
	const char *cluster_name; /* NULL: unknown */
};

enum egs_worker_action {
	EGS_DO_REQUEUE,	  /* requeue a running job */
	EGS_DO_BEGIN_NOW, /* end the delay of a requeued job */
	EGS_DO_CANCEL,
	EGS_DO_REQUEUE_HOLD, /* requeue a running job, held */
	/* These change only a job that has not started (hold_job.h). */
	EGS_DO_CANCEL_PENDING,
	EGS_DO_HOLD,
	EGS_DO_HOLD_ADMIN,
	EGS_DO_UNHOLD,
	EGS_DO_UNHOLD_ADMIN,
	/* Send an update without a change.  slurmctld then computes the
	 * priority, and job_submit/egs applies the row of the job.
	 */
	EGS_DO_TOUCH,
	EGS_DO_SIGNAL, /* EGS_DO_SIGNAL_NUMBER to its steps, or its shell */
	EGS_DO_MASK = 255,
};

/* Added to EGS_DO_TOUCH: an exit of the job in its grace period is final.
 * Before 24.05 Slurm does not requeue such a job, and the touch is skipped.
 */
#define EGS_DO_TOUCH_EXIT (UINT32_C(1) << 8)

/* Added to EGS_DO_SIGNAL. */
#define EGS_DO_SIGNAL_NUMBER(number) ((uint32_t)(number) << 8)
#define EGS_DO_SIGNAL_BATCH	     (UINT32_C(1) << 16)

/* How a job gets another number of GPUs. */
enum egs_resize_way {
	EGS_RESIZE_GPUS,       /* now, the same number on each node */
	EGS_RESIZE_NODES,      /* now, by giving whole nodes back */
	EGS_RESIZE_AT_RESTART, /* when the job runs again */
	EGS_RESIZE_CANCEL,     /* not at all: end what has begun */
};

struct egs_resize_params {
	uint32_t job_id, uid;
	uint32_t serial; /* comes back with the answer */
	uint32_t gpus;	 /* on all of its nodes */
	enum egs_resize_way way;
	bool keep_cores;
	bool gpus_scanned; /* 'open_gpus' is known */
	/* As in common/hint/stamp.h, "": none is open. */
	char open_gpus[EGS_OPEN_GPUS_MAX];
};

enum egs_resize_outcome {
	EGS_RESIZE_DONE,
	EGS_RESIZE_WAITING,    /* send the request again */
	EGS_RESIZE_FINISHING,  /* likewise, in a moment */
	EGS_RESIZE_NEEDS_SCAN, /* send it again with 'gpus_scanned' */
	EGS_RESIZE_REFUSED,
	EGS_RESIZE_NOT_LIVE, /* refused: not GPU by GPU while the job runs */
};

/* The reason of a drain that is ours begins with this. */
#define EGS_DRAIN_PREFIX "egs: "

#define EGS_DRAIN_NODE_MAX 64
#define EGS_DRAIN_TEXT_MAX 256

struct egs_drain_params {
	char node[EGS_DRAIN_NODE_MAX];
	char reason[EGS_DRAIN_TEXT_MAX]; /* of a drain; begins as above */
	bool undo;
};

enum egs_drain_outcome {
	EGS_DRAIN_DONE,	  /* it was done, or nothing was to be done */
	EGS_DRAIN_OTHERS, /* the node is as an operator has left it */
	EGS_DRAIN_FAILED, /* slurmctld does not answer, or refuses */
};

/* Names that Slurm has, beside those of jobs and nodes. */
enum egs_name_kind {
	EGS_NAME_PARTITION,
	EGS_NAME_QOS, /* none without slurmdbd */
	EGS_NAME_KINDS,
};

struct egs_worker_ops {
	void (*job)(void *arg, const struct egs_job_fact *fact);
	void (*node)(void *arg, const struct egs_node_fact *fact);
	/* A user that Slurm calls operator or administrator.  NULL ends the
	 * list.
	 */
	void (*operator)(void *arg, uint32_t uid, const char *name);
	/* Likewise, a user that coordinates 'account'. */
	void (*coordinator)(void *arg, uint32_t uid, const char *name,
			    const char *account);
	/* Likewise, a name.  A list comes when it may have changed. */
	void (*name)(void *arg, enum egs_name_kind kind, const char *name);
	void (*poll_done)(void *arg, const struct egs_poll_result *result);
	/* A single job was read; NULL: Slurm does not know it.  Not called if
	 * slurmctld did not answer.
	 */
	void (*job_read)(void *arg, uint32_t job_id,
			 const struct egs_job_fact *fact);
	/* 'error' is NULL if the action was done. */
	void (*act_done)(void *arg, uint64_t id, const char *error);
	/* The answer to egs_worker_resize(), with its parameters.  'text' is a
	 * sentence or, with EGS_RESIZE_DONE, the variables of the job
	 * (resize_job.h).
	 */
	void (*resize_step)(void *arg, const struct egs_resize_params *params,
			    enum egs_resize_outcome outcome, const char *text);
	/* The answer to egs_worker_drain(), with its parameters. */
	void (*node_drained)(void *arg, const struct egs_drain_params *params,
			     enum egs_drain_outcome outcome, const char *text);
	/* A problem that an administrator should know. */
	void (*warn)(void *arg, const char *message);
};

/* Start 'program' with the argument --worker and the socket as its file 0.
 * 'program' must outlive the worker.  NULL with 'err' set on failure.
 */
struct egs_worker *egs_worker_new(struct egs_loop *loop, const char *program,
				  const struct egs_worker_ops *ops, void *arg,
				  struct egs_err *err);

/* End the process.  No callback is called any more. */
void egs_worker_free(struct egs_worker *worker);

/* Read all jobs and all nodes.  'full': also if nothing has changed. */
void egs_worker_poll(struct egs_worker *worker, bool full);

/* Read one job, after everything else that waits.  If too many jobs wait to be
 * read, nothing happens: the next poll shows the job.
 */
void egs_worker_read_job(struct egs_worker *worker, uint32_t job_id);

/* Act on a job.  'job' is written as Slurm takes it (12, 12_3); 'id' comes back
 * with the answer.  'resume_info' goes with EGS_DO_BEGIN_NOW and EGS_DO_TOUCH
 * (common/hint/resume_info.h); NULL: none.
 */
void egs_worker_act(struct egs_worker *worker, uint64_t id, uint32_t action,
		    const char *job, const char *resume_info);

/* Take one step towards another number of GPUs. */
void egs_worker_resize(struct egs_worker *worker,
		       const struct egs_resize_params *params);

/* Is a step of this job queued, or under way? */
bool egs_worker_has_resize(const struct egs_worker *worker, uint32_t job_id);

/* Drain a node, or undo that (drain_node.h). */
void egs_worker_drain(struct egs_worker *worker,
		      const struct egs_drain_params *params);

/* Kill a worker that is silent for 'ms'; for tests. */
void egs_worker_set_timeout(struct egs_worker *worker, uint32_t ms);

/* The worker process: serve requests on file 0 until it is closed.  Returns the
 * exit code of the process.
 */
int egs_worker_main(void);

#endif
