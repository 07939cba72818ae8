/* worker.h - libslurm in a process of its own
 *
 * A call of libslurm may block for ten seconds and may exit() its process, so
 * the daemon asks a worker and goes on; answers arrive as callbacks from the
 * loop.  One request is under way at a time, others wait in order.
 *
 * A worker that dies, or is silent for longer than any call takes, is replaced.
 * Requests it had taken are answered as failed: what became of them is not
 * known, and only Slurm can tell.
 */
#ifndef EGS_SLURM_WORKER_H
#define EGS_SLURM_WORKER_H

#include "common/base/loop.h"
#include "policyd/slurm/facts.h"

struct egs_worker;

/* How a look at all jobs and nodes ended. */
struct egs_poll_result {
	bool ok;
	bool unchanged; /* ok, and nothing to say: no job was handed over */
	uint32_t slurmctld_ms; /* how long slurmctld took */
	const char *error;
	const char *cluster_name; /* its name, NULL: not known */
};

enum egs_worker_action {
	EGS_DO_REQUEUE,	  /* requeue a running job */
	EGS_DO_BEGIN_NOW, /* end the delay of a requeued job */
	EGS_DO_CANCEL,
	/* Send an update without a change.  slurmctld then computes the
	 * priority, and job_submit/egs does what the table says of the job.
	 */
	EGS_DO_TOUCH,
	EGS_DO_SIGNAL, /* EGS_DO_SIGNAL_NUMBER to its steps, or its shell */
	EGS_DO_MASK = 255,
};

/* Room for the GPUs of a job that are open, "n1:c,n2:1". */
#define EGS_OPEN_GPUS_MAX 1024

/* A running job is to have another number of GPUs. */
struct egs_resize_params {
	uint32_t job_id, uid;
	uint32_t gpus; /* on all of its nodes */
	bool keep_cores;
	bool whole_nodes;  /* by giving whole nodes back */
	bool cancel;	   /* no, it is not */
	bool on_restart;   /* not now, but when it runs again */
	bool gpus_scanned; /* who has GPUs open is known, and these are: */
	char open_gpus[EGS_OPEN_GPUS_MAX]; /* as in
				    plugins/job_submit/resize_request.h, or ""
				  */
};

enum egs_resize_outcome {
	EGS_RESIZE_DONE,
	EGS_RESIZE_WAITING,    /* ask again */
	EGS_RESIZE_NEEDS_SCAN, /* ask again when it is known who has GPUs open
				*/
	EGS_RESIZE_REFUSED,
	EGS_RESIZE_NOT_LIVE, /* refused: not GPU by GPU while the job runs */
};

/* Added to EGS_DO_TOUCH: the job exits for good if it exits in its grace
 * period.  Before 24.05 Slurm requeues no such job, and the touch is skipped.
 */
#define EGS_DO_TOUCH_EXIT (UINT32_C(1) << 8)

/* Added to EGS_DO_SIGNAL. */
#define EGS_DO_SIGNAL_NUMBER(number) ((uint32_t)(number) << 8)
#define EGS_DO_SIGNAL_BATCH	     (UINT32_C(1) << 16)

struct egs_worker_ops {
	void (*job)(void *arg, const struct egs_job_fact *fact);
	void (*node)(void *arg, const struct egs_node_fact *fact);
	/* One of those whom Slurm calls operator or administrator; NULL: these
	 * were all.
	 */
	void (*operator)(void *arg, uint32_t uid, const char *name);
	void (*poll_done)(void *arg, const struct egs_poll_result *end);
	/* A single job was looked at; NULL: Slurm does not know it.  Not
	 * called when the look failed.
	 */
	void (*job_read)(void *arg, uint32_t job_id,
			 const struct egs_job_fact *fact);
	/* 'why' is NULL when it was done. */
	void (*act_done)(void *arg, uint64_t id, const char *why);
	/* How far a job is: a sentence or, when it is done, the variables of
	 * the job, as in resize_job.h.
	 */
	void (*resize_step)(void *arg, uint32_t job_id,
			    enum egs_resize_outcome end, const char *text);
	/* Something the person on call should know. */
	void (*warn)(void *arg, const char *what);
};

/* Start 'program' with the argument --worker and the socket as its file 0.
 * 'program' must outlive the worker.  NULL with 'err' set on failure.
 */
struct egs_worker *egs_worker_new(struct egs_loop *loop, const char *program,
				  const struct egs_worker_ops *ops, void *arg,
				  struct egs_err *err);

/* Ends the process; nothing is called back any more. */
void egs_worker_free(struct egs_worker *worker);

/* Look at all jobs, and all nodes.  'anew': also if nothing has changed. */
void egs_worker_poll(struct egs_worker *worker, bool anew);

/* Look at one job. */
void egs_worker_read_job(struct egs_worker *worker, uint32_t job_id);

/* Act on a job; 'job' is written as Slurm takes it (12, 12_3), 'id' is the
 * caller's and comes back with the answer.  'again' goes with EGS_DO_BEGIN_NOW
 * (wire/again.h); NULL: nothing.
 */
void egs_worker_act(struct egs_worker *worker, uint64_t id, uint32_t act,
		    const char *job, const char *again);

/* One more step towards another number of GPUs. */
void egs_worker_resize(struct egs_worker *worker,
		       const struct egs_resize_params *ask);

/* Kill a worker that has not answered for so long, in ms; for tests. */
void egs_worker_set_timeout(struct egs_worker *worker, uint32_t ms);

/* The other side: serve requests on file 0 until it is closed.  The exit code
 * of the process.
 */
int egs_worker_main(void);

#endif
