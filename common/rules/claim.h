/* claim.h - GPUs freed for a pending job stay reserved for it
 *
 * Victims exit at different times, and the requester P starts after the last of
 * them.  Until then a claim reserves for P what the victims free.  Another job
 * may use the node only if the rest covers all claims of jobs ahead of that
 * job.  A job ahead of P ignores P's claim.  A claim ends at its expiry, or
 * when P starts, ends, is held, is changed or no longer fits.
 */
#ifndef EGS_RULES_CLAIM_H
#define EGS_RULES_CLAIM_H

#include "common/rules/take_rule.h"

/* Lifetime of a claim beyond the grace period and KillWait. */
#define EGS_CLAIM_SLACK_S 60

/* Position of a job in the queue.  A job that may preempt another is ahead of
 * it, so that a victim is never ahead of its requester; then Slurm's priority
 * decides.
 */
struct egs_queue_position {
	int64_t priority;
	uint32_t job_id;
	uint8_t tier;
	bool on_loan;
};

struct egs_claim {
	struct egs_queue_position position; /* of the claiming job */
	egs_time_t expires;
	uint32_t node;
	uint32_t gpus;
	uint32_t cores;
	uint32_t mem_mb;
};

/* All zero is an empty list. */
struct egs_claim_list {
	struct egs_claim *claim;
	uint32_t n, room;
};

/* GPUs, cores and memory: free on a node, or wanted there. */
struct egs_amount {
	uint32_t gpus;
	uint32_t cores;
	uint32_t mem_mb;
};

/* Is 'a' ahead of 'b'?  A job within quota is ahead, then the stronger tier,
 * then a higher priority, then a lower job id.
 */
bool egs_queue_is_ahead(const struct egs_queue_position *a,
			const struct egs_queue_position *b);

/* The expiry of a claim made 'now'. */
egs_time_t egs_claim_expiry(egs_time_t now, uint32_t grace_s,
			    uint32_t kill_wait_s);

/* Reserve room for 'more' claims: 0, or -1 when out of memory. */
int egs_claim_reserve(struct egs_claim_list *cs, uint32_t more);

/* Add a claim.  It replaces an older claim of the same job on the same node.
 * Returns 0, or -1 when out of memory, the claims as they were.
 */
int egs_claim_put(struct egs_claim_list *cs, const struct egs_claim *claim);

/* End the claims of a job, on a node, or past their expiry.  Each returns how
 * many ended.
 */
uint32_t egs_claim_end_job(struct egs_claim_list *cs, uint32_t job_id);
uint32_t egs_claim_end_node(struct egs_claim_list *cs, uint32_t node);
uint32_t egs_claim_expire(struct egs_claim_list *cs, egs_time_t now);

/* Does the job have a claim? */
bool egs_claim_has_job(const struct egs_claim_list *cs, uint32_t job_id);

/* May a job at this position use 'want' on 'node'?  'left' is free there, or
 * held by victims that are being preempted.  Only resources that the job wants
 * count, so a claim on GPUs does not stop a job without GPUs.
 */
bool egs_claim_may_use(const struct egs_claim_list *cs,
		       const struct egs_queue_position *position, uint32_t node,
		       const struct egs_amount *left,
		       const struct egs_amount *want);

/* Free what the claims hold. */
void egs_claim_clear(struct egs_claim_list *cs);

#endif
