/* jobs.h - the table of jobs, by Slurm's job id
 *
 * A slot is a small number that belongs to a job until the job is dropped.  A
 * job id has one job at a time: before an id is reused, the caller drops the
 * old job.
 */
#ifndef EGS_POLICY_JOBS_H
#define EGS_POLICY_JOBS_H

#include "common/base/idmap.h"
#include "policyd/policy/event.h"

struct egs_job {
	struct egs_identity ident;
	struct egs_facts facts;
	struct egs_node_alloc *alloc; /* of a running job */
	uint64_t usage_rate;	    /* of its GPUs, in the usage of its team */
	egs_time_t first_submitted; /* the first submission we know of */
	egs_time_t queued_at;
	egs_time_t started;	    /* of a running job */
	egs_time_t saved_at;	    /* the last save that it reported */
	egs_time_t loan_since;	    /* of a job on loan */
	egs_time_t requested_at;    /* of the preemption notice */
	egs_time_t yielded_at;	    /* 0: it has not yielded */
	egs_time_t released_at;	    /* the last time, 0: never */
	egs_time_t withdrawn_at;    /* last withdrawal sent to Slurm */
	egs_time_t protected_until; /* after AtDeadline=spare: no victim */
	egs_time_t deadline; /* of the notice, 0: none; after a withdrawal: an
			      * exit until then still counts as a yield */
	egs_time_t budget_from;	    /* first preemption of its period */
	egs_time_t shrink_deadline; /* of a request to shrink */
	egs_time_t progress_at;	    /* its last report of progress */
	egs_time_t wish_tried_at;   /* the last action, 0: none yet */
	egs_time_t idle_warned_at;  /* 0: not since its GPUs were busy */
	egs_time_t reclaimed_at;    /* asked for its idle GPUs, 0: never */
	uint32_t nallocs;
	uint32_t gpus;			/* held, of 'type' */
	uint32_t slack_gpus, span_gpus; /* as in loan_book.h */
	uint32_t waited_s;		/* waited before its earlier starts */
	uint32_t requester;	  /* for which it is preempted, 0: unknown */
	uint32_t named_requester; /* as select/egs named it, 0: not named */
	uint32_t shrink_for;	  /* asked to shrink for this job, 0: not */
	uint32_t shrink_to_gpus;  /* asked to shrink to this many GPUs */
	uint32_t shrinking_job;	  /* pending: the job asked to shrink for it */
	uint32_t reclaim_for;	  /* requester of that */
	uint32_t idle_wanted_by;  /* a pending job that would start with its
				   * idle GPUs, by the last event, 0: none */
	uint32_t idle_gpus, idle_s; /* beyond IdleWarn=, by the last event */
	uint32_t request_no;	    /* number of the last notice */
	uint32_t departed_request;  /* the notice of its last preemption, 0: it
				     * has restarted */
	uint32_t departed_for;	    /* requester of that preemption */
	uint32_t preemptions;	    /* in its period */
	uint32_t observed_for; /* a pending job that would preempt it if EGS
				* enforced, 0: none */
	uint32_t wish;	       /* EGS_WISH_*, 0: none */
	int32_t site_factor;
	uint16_t save_s[EGS_SAVE_TIMES];    /* 0: none */
	uint8_t next_save;		    /* next in save_s */
	uint8_t type;			    /* of its GPUs */
	bool used;			    /* this slot */
	bool on_loan, in_floor, over_limit; /* of a running job */
	uint8_t claim_type;		    /* of a claim within quota */
	bool has_owner_claim; /* its claim, if it still has one, is within quota
			       */
	bool running, preempting, yielded;
	uint8_t preempt_fate;	/* enum egs_fate, while it is preempted */
	bool preempt_on_loan;	/* on loan when it was preempted */
	bool late;		/* the deadline has passed */
	bool finished;		/* in this run: its exit is final */
	bool release_due;	/* its begin time is to be cleared */
	bool withdrawing;	/* until Slurm confirms the withdrawal */
	bool enforced;		/* EGS enforced when it gave the notice */
	bool unannounced;	/* notice: not recorded, requester unknown */
	bool requester_guessed; /* select/egs has not named it */
	bool shrink_refused;	/* in this run */
	bool stalled;		/* no work is seen: StallAfter= */
	bool warn_observed;	/* its idle warning was only recorded */
	bool unreachable;	/* in this run: it has no run directory */
	bool reports_saves;	/* it has reported a save */
	bool start_charged;	/* this run; not known of a run that an earlier
				 * daemon saw start */
};

/* Slots are those of 'ids'.  All zero is an empty table. */
struct egs_jobs {
	struct egs_idmap ids;
	struct egs_job *job; /* by slot; if 'used' */
	uint32_t room;
};

/* The job with this id, or NULL. */
static inline struct egs_job *egs_jobs_find(const struct egs_jobs *t,
					    uint32_t job_id)
{
	uint32_t slot = egs_idmap_find(&t->ids, job_id);

	return slot == EGS_IDMAP_NONE ? NULL : &t->job[slot];
}

static inline uint32_t egs_jobs_slot(const struct egs_jobs *t,
				     const struct egs_job *j)
{
	return (uint32_t)(j - t->job);
}

/* The job after 'j' in the order of slots, the first one after NULL; NULL:
 * there are no more.
 *
 *	for (struct egs_job *j = NULL; (j = egs_jobs_next(t, j));)
 */
static inline struct egs_job *egs_jobs_next(const struct egs_jobs *t,
					    const struct egs_job *j)
{
	uint32_t i = j ? egs_jobs_slot(t, j) + 1 : 0;

	while (i < t->ids.nslots && !t->job[i].used)
		i++;
	return i < t->ids.nslots ? &t->job[i] : NULL;
}

/* Add an empty job with an id that no job has.  Returns NULL when out of
 * memory, with the table unchanged.  Earlier pointers to jobs are no longer
 * valid.
 */
struct egs_job *egs_jobs_add(struct egs_jobs *t, uint32_t job_id);

/* Forget a job and free what it holds. */
void egs_jobs_drop(struct egs_jobs *t, struct egs_job *j);

/* Free all jobs and the table. */
void egs_jobs_clear(struct egs_jobs *t);

/* Is the job pending, and would Slurm start it if there were room?
 * False for NULL.
 */
static inline bool egs_job_is_waiting(const struct egs_job *j)
{
	return j && !j->running && !j->facts.not_schedulable;
}

/* Does a person want the job to end its run? */
static inline bool egs_job_is_aborted(const struct egs_job *j)
{
	uint32_t kind = j->wish & EGS_WISH_MASK;

	return kind == EGS_WISH_CANCEL || kind == EGS_WISH_REQUEUE;
}

#endif
