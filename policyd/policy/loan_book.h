/* loan_book.h - which jobs of a team are owned and which are on loan
 *
 * One ledger is one team and one GPU type: its running jobs by (tier, start,
 * job id).  Walking it, each job is owned as a whole while it fits in what is
 * left of the quota, else it is on loan.  A job that is owned stays owned
 * until its MinRuntime is over, and comes off the quota before the others;
 * from on loan to owned it goes at once.  That, and reckoning a pending job
 * as if it had started, keeps two jobs from changing places again and again.
 *
 * Jobs that hold up the floor of their workload come before all others, also
 * of stronger tiers: a team that runs more beside them lends itself no part of
 * the floor.
 */
#ifndef EGS_POLICY_LOAN_BOOK_H
#define EGS_POLICY_LOAN_BOOK_H

#include <stddef.h>

#include "common/conf/policy_conf.h"
#include "common/rules/take_rule.h"

/* A running job, with all the walk needs, so that it stays in the cache. */
struct egs_loan_entry {
	egs_time_t start;
	uint32_t job_id;
	uint32_t slot; /* of the job, for who owns the ledger */
	uint32_t gpus;
	int16_t workload;
	uint8_t tier;
	bool owned : 1;	     /* out: since the last walk */
	bool in_floor : 1;   /* out: it holds up its workload's floor */
	bool over_limit : 1; /* out: on loan because of a limit */
	bool changed : 1;    /* out: one of these is not as it was */
	bool workload_over_limit : 1; /* in: its workload is over MaxGpuHours */
	bool visited_for_floor : 1;   /* of the walk under way: it holds up a
					 floor */
};

struct egs_loan_book {
	struct egs_loan_entry *entry; /* sorted */
	uint32_t n, room;
	uint32_t quota;	    /* in force: the team's, less capacity lost */
	uint32_t unmanaged; /* GPUs of unmanaged jobs, first off the quota */
	uint32_t claimed;   /* GPUs kept for pending owners, likewise */
	uint32_t max_gpus;  /* EGS_UNLIMITED */
	bool over_hours;    /* the team is over MaxGpuHours */
	bool dirty;	    /* for who owns it: walk it when settling */
	/* what the last walk found: */
	uint32_t owned, on_loan;	       /* GPUs */
	uint32_t owned_by_tier[EGS_TIERS_MAX]; /* GPUs owned by each tier, */
	uint32_t protected_by_tier[EGS_TIERS_MAX]; /* inside MinRuntime, or
						      floors */
	uint32_t loan_by_tier[EGS_TIERS_MAX]; /* GPUs on loan to each tier */
	egs_time_t next_recompute; /* walk again then, INT64_MAX: no need */
};

/* Make room for 'more' jobs: 0, or -1 when out of memory. */
int egs_loan_book_reserve(struct egs_loan_book *l, uint32_t more);

/* Put a job in its place, in room that was reserved, or take it out ('job_id'
 * with the tier and start it was put in with).  Removing what is not there
 * does nothing.
 */
void egs_loan_book_add(struct egs_loan_book *l, const struct egs_loan_entry *e);
void egs_loan_book_remove(struct egs_loan_book *l, uint8_t tier,
			  egs_time_t start, uint32_t job_id);

/* The entry of a job, or NULL; valid until the next add or remove. */
struct egs_loan_entry *egs_loan_book_find(struct egs_loan_book *l, uint8_t tier,
					  egs_time_t start, uint32_t job_id);

/* Walk the ledger of GPU type 'type' at 'now'. */
void egs_loan_book_recompute(struct egs_loan_book *l,
			     const struct egs_policy_conf *conf, int type,
			     egs_time_t now);

/* What is left of the quota for a job of 'tier' that starts now; -1: for one
 * that comes before all tiers, because it holds up a floor.
 */
uint32_t egs_loan_book_quota_left(const struct egs_loan_book *l, int tier);

/* GPUs that hold up the floor of a workload. */
uint32_t egs_loan_book_floor_gpus(const struct egs_loan_book *l, int workload);

/* Free what the ledger holds. */
void egs_loan_book_clear(struct egs_loan_book *l);

#endif
