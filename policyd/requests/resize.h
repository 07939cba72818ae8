/* resize.h - running jobs on their way to another number of GPUs
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
 * Before GPUs are given back each node of the job is asked who has them open
 * (node_gpu_users.c), for Slurm does not know.  What is open stays; where a
 * node does not answer nothing goes.
 */
#ifndef EGS_REQUESTS_RESIZE_H
#define EGS_REQUESTS_RESIZE_H

#include "policyd/daemon/daemon.h"

#define EGS_RESIZE_LEASE_S 60

/* One job on its way. */
struct egs_resize {
	struct egs_resize_params request;
	enum egs_resize_outcome state;
	char *text;		/* as resize_job.h has it */
	bool text_sent;		/* the job has heard that */
	bool announced;		/* the job knows that it has to wait */
	bool complete;		/* Slurm shows the result, or the job ended */
	uint32_t news;		/* number of the last news */
	uint32_t news_sent;	/* number of the last news sent */
	egs_time_t received_at; /* of the job */
	egs_time_t sent_at;	/* of the worker */
	bool worker_busy;	/* and not answered yet */
	bool used;
	uint32_t gpu_scan;    /* that is under way, 0: none */
	bool needs_gpu_scan;  /* Slurm shows GPUs to be given back */
	uint32_t *unanswered; /* nodes that have not answered it */
	uint32_t nunanswered; /* how many */
	struct egs_err
		live_refusal;	 /* why not GPU by GPU, "": nobody has said */
	struct egs_err gpu_user; /* has which GPU open, "": nobody */
	struct egs_err
		submit_refusal; /* by job_submit/egs when it refused, or "" */
};

static inline bool egs_resize_is_refused(const struct egs_resize *r)
{
	return r->state == EGS_RESIZE_REFUSED ||
	       r->state == EGS_RESIZE_NOT_LIVE;
}

/* The one of a job, or NULL; borrowed until the next call. */
struct egs_resize *egs_resize_find(const struct egs_daemon *d, uint32_t job_id);

/* The number of the last news of this job, 0: no resize; and of any job. */
uint32_t egs_resize_news(const struct egs_daemon *d, uint32_t job_id);
uint32_t egs_resize_last_news(const struct egs_daemon *d);

/* Key of held messages of this job, for egs_server_defer(). */
uint64_t egs_resize_wait_key(uint32_t job_id);

/* The look at this job that is under way, 0: none. */
uint32_t egs_resize_gpu_scan(const struct egs_daemon *d, uint32_t job_id);

/* A node has answered it: the bits of 'open' are GPUs that are, and 'who' has
 * one of them, in words.
 */
void egs_resize_add_gpu_users(struct egs_daemon *d, uint32_t job_id,
			      uint32_t look, uint32_t node, uint64_t open,
			      const struct egs_err *who);

/* Why it was refused, in a sentence for its owner. */
struct egs_err egs_resize_format_refusal(const struct egs_resize *r);

/* Begin one.  -1 with 'err' set when out of memory. */
int egs_resize_begin(struct egs_daemon *d, const struct egs_resize_params *ask,
		     struct egs_err *err);

/* The job wants it no more, or has heard the end. */
void egs_resize_cancel(struct egs_daemon *d, struct egs_resize *r);
void egs_resize_forget(struct egs_resize *r);

/* Let a job that is about to be requeued run again with so many GPUs. */
void egs_resize_set_next_run(struct egs_daemon *d,
			     const struct egs_identity *job, uint32_t gpus);

#endif
