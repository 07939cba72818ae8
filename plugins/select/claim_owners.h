/* claim_owners.h - the claims slurmctld knows, and whether their jobs still
 * wait
 *
 * One lock of the caller's guards it; Slurm's job and node locks are held.
 */
#ifndef EGS_SELECT_CLAIM_OWNERS_H
#define EGS_SELECT_CLAIM_OWNERS_H

#include "common/rules/claim.h"
#include "plugins/compat/compat.h"

/* A job with claims. */
struct egs_claim_owner {
	uint32_t job_id;
	time_t submit_time;
	uint64_t request_hash; /* of what it asks for */
	bool restored;	       /* it is from before slurmctld's restart */
	bool unsent;	       /* the daemon has not heard of them */
};

/* Zeroed, it is empty. */
struct egs_claim_owners {
	struct egs_claim_list claims;
	struct egs_claim_owner *owner;
	uint32_t n, room;
	bool restore_done; /* the daemon was, for what it knows */
};

/* Where the job stands; false: the daemon has not decided about it. */
bool egs_claim_owner_position(const job_record_t *job,
			      struct egs_queue_position *turn);

/* Has the claim of this job led to a preemption?  Slurm may still have found a
 * reason against it after the victims were chosen.
 */
bool egs_claim_owner_has_preempted(const struct egs_claim_owners *o,
				   uint32_t job_id);

/* Give 'job' the claim 'like' on each of 'nodes', in the place of what it had.
 * True if that is something new, or the daemon has not heard of it.
 */
bool egs_claim_owners_put(struct egs_claim_owners *o, const job_record_t *job,
			  const struct egs_claim *like, const bitstr_t *nodes);

/* The daemon could not be told of the claims of this job. */
void egs_claim_owners_set_unsent(struct egs_claim_owners *o, uint32_t job_id);

/* End the claims of a job, and those that have lost their reason; the others
 * get the place in the queue their job has now.
 */
void egs_claim_owners_drop(struct egs_claim_owners *o, uint32_t job_id);
void egs_claim_owners_sweep(struct egs_claim_owners *o);

/* After a restart: take over what the daemon knows, once it can be asked. */
void egs_claim_owners_restore(struct egs_claim_owners *o);

#endif
