/* resize.h - running jobs change their number of GPUs
 *
 * A job that changes its phase may want fewer GPUs, or more.  The worker goes
 * one step after the other (resize_job.h) while the job waits.  The job sends
 * the same message again, with the same id, at least every EGS_JOB_HOLD_S.
 * Without a message for EGS_RESIZE_LEASE_S the resize is cancelled.  Its end is
 * known for as long.  Nothing is on disk: Slurm shows all there is to know, and
 * the job asks again.
 *
 * A change that matters to the job is news, and has a number that grows.  News
 * wake the message of the job that the server holds, and go to egs-noded with
 * the orders of the job's nodes, which wakes the job in its run directory.
 *
 * Before a job gives back GPUs, each of its nodes reports which GPUs processes
 * have open (node_gpu_users.c), because Slurm does not know.  The job keeps
 * open GPUs.  If a node does not answer, the job keeps all of them.
 */
#ifndef EGS_REQUESTS_RESIZE_H
#define EGS_REQUESTS_RESIZE_H

#include "policyd/daemon/daemon.h"

#define EGS_RESIZE_LEASE_S 60

/* The resize of one job. */
struct egs_resize {
	struct egs_resize_params request;
	enum egs_resize_outcome state;
	char *text;		/* of the last step, see resize_job.h */
	bool text_sent;		/* the job has got 'text' */
	bool announced;		/* the job knows that it has to wait */
	bool complete;		/* Slurm shows the result, or the job ended */
	uint32_t news;		/* number of the last news */
	uint32_t news_sent;	/* number of the last news sent */
	egs_time_t received_at; /* last message of the job */
	egs_time_t sent_at;	/* last request to the worker */
	bool worker_busy;	/* the worker has not answered */
	bool used;
	uint32_t gpu_scan;    /* number of the scan; 0: none */
	bool needs_gpu_scan;  /* the next step gives back GPUs */
	uint32_t *unanswered; /* nodes that have not answered the scan */
	uint32_t nunanswered;
	struct egs_err live_refusal; /* why not GPU by GPU, or "" */
	struct egs_err gpu_user; /* the process that has a GPU open, or "" */
	struct egs_err submit_refusal; /* the reason of job_submit/egs, or "" */
};

static inline bool egs_resize_is_refused(const struct egs_resize *r)
{
	return r->state == EGS_RESIZE_REFUSED ||
	       r->state == EGS_RESIZE_NOT_LIVE;
}

/* The resize of a job, or NULL; borrowed until the next call. */
struct egs_resize *egs_resize_find(const struct egs_daemon *d, uint32_t job_id);

/* The number of the last news of this job, 0: no resize; and of any job. */
uint32_t egs_resize_news(const struct egs_daemon *d, uint32_t job_id);
uint32_t egs_resize_last_news(const struct egs_daemon *d);

/* Key of held messages of this job, for egs_server_defer(). */
uint64_t egs_resize_wait_key(uint32_t job_id);

/* Number of the job's GPU scan; 0: none. */
uint32_t egs_resize_gpu_scan(const struct egs_daemon *d, uint32_t job_id);

/* A node has answered scan 'look': the bits of 'open' are open GPUs, and 'who'
 * is a text about one of them.
 */
void egs_resize_add_gpu_users(struct egs_daemon *d, uint32_t job_id,
			      uint32_t look, uint32_t node, uint64_t open,
			      const struct egs_err *who);

/* Why the resize is refused, for the owner of the job. */
struct egs_err egs_resize_format_refusal(const struct egs_resize *r);

/* Begin a resize. -1 with 'err' set when out of memory. */
int egs_resize_begin(struct egs_daemon *d,
		     const struct egs_resize_params *params,
		     struct egs_err *err);

/* End a resize: the job does not want it any more; or has got its answer. */
void egs_resize_cancel(struct egs_daemon *d, struct egs_resize *r);
void egs_resize_forget(struct egs_resize *r);

/* A job that is about to be requeued will run with 'gpus' GPUs. */
void egs_resize_set_next_run(struct egs_daemon *d,
			     const struct egs_identity *job, uint32_t gpus);

#endif
