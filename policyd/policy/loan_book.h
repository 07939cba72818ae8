/* loan_book.h - which jobs of a team are within quota (owned), which on loan
 *
 * One book has one team and one GPU type: its running jobs by (tier, start, job
 * id).  A walk in this order makes each job owned as a whole if it fits in the
 * rest of the quota, else it is on loan.  An owned job stays owned until its
 * MinRuntime is over, and is subtracted from the quota before the others.  A
 * job on loan becomes owned at once.  Together with evaluating a pending job as
 * if it had started, this keeps two jobs from preempting each other in turn.
 *
 * Jobs that fill the floor of their workload come before all others, also of
 * stronger tiers: other jobs of the team cannot use up the floor's quota.
 */
#ifndef EGS_POLICY_LOAN_BOOK_H
#define EGS_POLICY_LOAN_BOOK_H

#include <stddef.h>

#include "common/conf/policy_conf.h"
#include "common/rules/take_rule.h"

/* A running job, with all that the walk needs, to stay in the cache. */
struct egs_loan_entry {
	egs_time_t start;
	uint32_t job_id;
	uint32_t slot; /* of the job, for the caller */
	uint32_t gpus;
	uint32_t slack; /* out: GPUs that can start before it in the quota until
			 * it is on loan; EGS_SLACK_NO_END: any number */
	uint32_t span;	/* out: as in take_rule.h */
	int16_t workload;
	uint8_t tier;
	bool owned : 1;	     /* out: since the last walk */
	bool in_floor : 1;   /* out: it fills the floor of its workload */
	bool over_limit : 1; /* out: on loan because of a limit */
	bool changed : 1;    /* out: the walk changed one of these */
	bool workload_over_limit : 1; /* in: its workload is over MaxGpuHours */
	bool visited_for_floor : 1;   /* during a walk: it fills a floor */
};

struct egs_loan_book {
	struct egs_loan_entry *entry; /* sorted */
	uint32_t n, room;
	uint32_t quota;	    /* in force */
	uint32_t unmanaged; /* GPUs of unmanaged jobs, and of jobs that have an
			     * entry in the book of another type; subtracted
			     * first */
	uint32_t claimed;   /* GPUs in claims within quota, likewise */
	uint32_t max_gpus;  /* EGS_UNLIMITED: none */
	bool over_hours;    /* the team is over MaxGpuHours */
	bool dirty;	    /* for the caller: walk it at the next update */
	/* results of the last walk: */
	uint32_t owned, on_loan;		   /* GPUs */
	uint32_t owned_by_tier[EGS_TIERS_MAX];	   /* GPUs owned by each tier */
	uint32_t protected_by_tier[EGS_TIERS_MAX]; /* of them: in MinRuntime,
						    * or in a floor */
	uint32_t loan_by_tier[EGS_TIERS_MAX]; /* GPUs on loan to each tier */
	egs_time_t next_recompute; /* walk again then, INT64_MAX: never */
};

/* Reserve room for 'more' jobs: 0, or -1 when out of memory. */
int egs_loan_book_reserve(struct egs_loan_book *l, uint32_t more);

/* Add a job, in reserved room, or remove it, with the tier and start that it
 * was added with.  Removing an unknown job does nothing.
 */
void egs_loan_book_add(struct egs_loan_book *l, const struct egs_loan_entry *e);
void egs_loan_book_remove(struct egs_loan_book *l, uint8_t tier,
			  egs_time_t start, uint32_t job_id);

/* Walk the book of GPU type 'type' at 'now'. */
void egs_loan_book_recompute(struct egs_loan_book *l,
			     const struct egs_policy_conf *conf, int type,
			     egs_time_t now);

/* The rest of the quota for a job of 'tier' that starts now; tier -1: for a job
 * that fills a floor and so comes before all tiers.
 */
uint32_t egs_loan_book_quota_left(const struct egs_loan_book *l, int tier);

/* GPUs that fill the floor of a workload. */
uint32_t egs_loan_book_floor_gpus(const struct egs_loan_book *l, int workload);

/* Free what the book holds. */
void egs_loan_book_clear(struct egs_loan_book *l);

#endif
