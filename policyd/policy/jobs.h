/* jobs.h - the table of jobs, by Slurm's job id
 *
 * A slot is a small number that stays a job's until it is dropped.  At any
 * time one job has an id; who gave it up is closed by the caller.
 */
#ifndef EGS_POLICY_JOBS_H
#define EGS_POLICY_JOBS_H

#include "policyd/policy/event.h"

#define EGS_NO_SLOT UINT32_MAX

struct egs_job {
	struct egs_identity ident;
	struct egs_facts facts;
	struct egs_node_alloc *alloc; /* of a running job */
	uint64_t usage_rate;	    /* what its GPUs add to its team's usage */
	egs_time_t first_submitted; /* first submitted, as far as anybody saw */
	egs_time_t queued_at;
	egs_time_t started;	 /* of a running job */
	egs_time_t saved_at;	 /* of one that reports */
	egs_time_t loan_since;	 /* of one on loan */
	egs_time_t requested_at; /* of the request */
	egs_time_t yielded_at;	 /* 0: it has not */
	egs_time_t released_at;	 /* the last time, 0: never */
	egs_time_t withdrawn_at; /* Slurm was told to let it stay */
	egs_time_t
		protected_until; /* it was late and spared: nobody's victim */
	egs_time_t deadline;	 /* of the request, 0: none; of one that was
				  * taken back: it may go until then */
	egs_time_t budget_from;	 /* first preemption of its period */
	egs_time_t shrink_deadline; /* of a request to shrink */
	uint32_t nallocs;
	uint32_t gpus;		  /* held, of 'type' */
	uint32_t waited_s;	  /* waited before its earlier starts */
	uint32_t requester;	  /* job */
	uint32_t slurm_requester; /* the job Slurm chose it for, 0: not said */
	uint32_t shrink_for; /* it is asked to shrink for this job, 0: not */
	uint32_t shrink_to_gpus; /* to so many GPUs */
	uint32_t shrinking_job;	 /* of one that waits: the job that is asked */
	uint32_t request_no;	 /* counts requests */
	uint32_t departed_request; /* the one it left for, 0: it is back */
	uint32_t departed_for;	   /* for which job that was */
	uint32_t preemptions;	   /* in its period */
	int32_t site_factor;
	uint16_t save_s[EGS_SAVE_TIMES];    /* 0: none */
	uint8_t next_save;		    /* next in save_s */
	uint8_t type;			    /* of what it holds */
	bool used;			    /* this slot */
	bool on_loan, in_floor, over_limit; /* of a running job */
	uint8_t claim_type;		    /* of an owner's claim */
	bool has_owner_claim; /* it made one as an owner, if it still has one */
	bool running, preempting, yielded;
	uint8_t preempt_fate;	/* enum egs_fate, as it was asked with */
	bool preempt_on_loan;	/* it was on loan then */
	bool late;		/* the deadline has passed */
	bool finished;		/* in this run: its exit is an end */
	bool release_due;	/* its begin time is to be cleared */
	bool withdrawing;	/* its request is being taken back */
	bool unannounced;	/* that it was asked, and for whom */
	bool requester_guessed; /* for whom it was asked: nobody has said so */
	bool shrink_refused; /* in this run: it was asked to shrink, in vain */
	bool reports_saves;  /* it has saved once */
};

struct egs_jobs {
	struct egs_job *job; /* by slot; 'used' tells which */
	uint32_t nslots, room, njobs;
	uint32_t first_free; /* slots below nslots that are free: the first */
	uint32_t *index;     /* hash of job ids: slot + 1 */
	uint32_t index_size; /* a power of two */
};

/* The slot of a job id, or EGS_NO_SLOT. */
uint32_t egs_jobs_find(const struct egs_jobs *t, uint32_t job_id);

/* A new, empty job with this id, which nobody has.  EGS_NO_SLOT when out of
 * memory, the table as it was.  Pointers to jobs are no longer valid.
 */
uint32_t egs_jobs_add(struct egs_jobs *t, uint32_t job_id);

/* Forget a job and free what it holds. */
void egs_jobs_drop(struct egs_jobs *t, uint32_t slot);

/* Free all of it. */
void egs_jobs_clear(struct egs_jobs *t);

#endif
