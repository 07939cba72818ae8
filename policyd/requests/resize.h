/* resize.h - running jobs on their way to another number of GPUs
 *
 * A job that changes its phase may want fewer GPUs, or more.  The worker goes
 * one step after the other (resize_job.h) while the job asks how far it is.
 * One that is not heard of for EGS_RESIZE_LEASE_S wants nothing any more, and
 * what it waits for is taken out of the queue.  The end of one is known for as
 * long.  Nothing is on disk: Slurm shows all there is to know, and the job asks
 * again.
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
