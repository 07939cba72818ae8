/* resize.h - running jobs change their number of GPUs
 *
 * A job that changes its phase may need fewer or more GPUs.  The worker resizes
 * the job in steps (resize_job.h) while the job waits.  The job sends the same
 * message again, with the same id, at least every EGS_JOB_HOLD_S.  Without a
 * message for EGS_RESIZE_LEASE_S the daemon cancels the resize.  The daemon
 * remembers the outcome of a resize for the same time.  Nothing is on disk:
 * after a restart Slurm shows the GPUs, and the job sends its message again.
 *
 * News is a change that matters to the job.  Each news has a number, which
 * grows.  On news the server answers the message of the job that it holds.  The
 * answer to node-wait also has the number, so that egs-noded wakes the job in
 * its run directory.
 *
 * Before a job gives back GPUs, each of its nodes reports which GPUs processes
 * have open (node_gpu_users.c), because Slurm does not know that.  The job
 * keeps open GPUs.  If a node does not answer, the job keeps all its GPUs.  The
 * nodes lock the GPUs that are not open.  The job is told the outcome when they
 * have unlocked what it keeps.
 */
#ifndef EGS_REQUESTS_RESIZE_H
#define EGS_REQUESTS_RESIZE_H

#include "policyd/daemon/daemon.h"

#define EGS_RESIZE_LEASE_S 60

/* The resize of one job. */
struct egs_resize {
	struct egs_resize_params request;
	enum egs_resize_outcome state;
	char *text;		/* text of the last step, see resize_job.h */
	bool text_sent;		/* the job has received 'text' */
	bool announced;		/* the job knows that it must wait */
	bool complete;		/* Slurm shows the result, or the job ended */
	uint32_t news;		/* number of the last news */
	uint32_t news_sent;	/* number of the last news sent */
	egs_time_t received_at; /* time of the job's last message */
	egs_time_t sent_at;	/* time of the last step */
	bool step_due;		/* the next step need not wait */
	uint32_t helper_state;	/* enum egs_job_state, of the last poll */
	uint32_t finish_tries;	/* steps since the helper job was ended */
	bool worker_busy;	/* the worker has not answered */
	bool used;
	uint32_t restarts;    /* of the run that asked */
	uint32_t gpu_scan;    /* number of the scan; 0: none */
	bool needs_gpu_scan;  /* the next step gives back GPUs */
	uint32_t *unanswered; /* nodes that have not answered the scan */
	uint32_t nunanswered;
	struct egs_err live_refusal; /* why single GPUs cannot be given back */
	struct egs_err gpu_user; /* the process that has a GPU open, or "" */
	struct egs_err submit_refusal; /* the reason of job_submit/egs, or "" */
};

static inline bool egs_resize_is_refused(const struct egs_resize *r)
{
	return r->state == EGS_RESIZE_REFUSED ||
	       r->state == EGS_RESIZE_NOT_LIVE;
}

/* Returns the resize of a job, or NULL; valid until the next resize begins. */
struct egs_resize *egs_resize_find(const struct egs_daemon *d, uint32_t job_id);

/* The number of the last news of this job (0: no resize), and of all jobs. */
uint32_t egs_resize_news(const struct egs_daemon *d, uint32_t job_id);
uint32_t egs_resize_last_news(const struct egs_daemon *d);

/* Wake a job that waits, if there is one. */
void egs_resize_add_news(struct egs_daemon *d, uint32_t job_id);

/* Key of held messages of this job, for egs_server_defer(). */
uint64_t egs_resize_wait_key(uint32_t job_id);

/* Number of the job's GPU scan, until its GPUs may be unlocked
 * (resize_locks.h); 0: none.
 */
uint32_t egs_resize_gpu_scan(const struct egs_daemon *d, uint32_t job_id);

/* What processes of a job use on a node. */
#define EGS_MEM_UNKNOWN UINT32_MAX
struct egs_node_use {
	uint64_t open_gpus; /* bit 0 the first */
	uint32_t mem_mb;    /* of all processes of the job's user */
};

/* Add the answer of a node to GPU scan 'look'; 'who' describes a process that
 * has a GPU open.
 */
void egs_resize_add_gpu_users(struct egs_daemon *d, uint32_t job_id,
			      uint32_t look, uint32_t node,
			      const struct egs_node_use *use,
			      const struct egs_err *who);

/* A node cannot answer GPU scan 'look': refuse the resize. */
void egs_resize_fail_gpu_scan(struct egs_daemon *d, uint32_t job_id,
			      uint32_t look, uint32_t node, const char *reason);

/* Begin a resize.  Returns 0, or -1 with 'err' set if out of memory. */
int egs_resize_begin(struct egs_daemon *d,
		     const struct egs_resize_params *params,
		     struct egs_err *err);

/* Cancel a resize that the job no longer needs.  Forget a resize whose outcome
 * the job has received.
 */
void egs_resize_cancel(struct egs_daemon *d, struct egs_resize *r);
void egs_resize_forget(struct egs_resize *r);

/* Set the number of GPUs for the next run of a job that will be requeued. */
void egs_resize_set_next_run(struct egs_daemon *d,
			     const struct egs_identity *job, uint32_t gpus);

#endif
