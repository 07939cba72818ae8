/* claim_owners.h - claims in slurmctld, and the jobs that have them
 *
 * The caller guards all of this by one lock and holds slurmctld's job and node
 * locks.
 */
#ifndef EGS_SELECT_CLAIM_OWNERS_H
#define EGS_SELECT_CLAIM_OWNERS_H

#include "common/rules/claim.h"
#include "plugins/compat/compat.h"

/* A job with claims. */
struct egs_claim_owner {
	uint32_t job_id;
	time_t submit_time;
	uint64_t request_hash; /* a changed request ends the claims */
	bool restored;	       /* from before slurmctld's restart */
	bool unsent;	       /* the daemon did not get them */
	bool for_itself;       /* of a job that an operator requeued: its own
				* GPUs, until it runs again */
};

/* All zero: empty. */
struct egs_claim_owners {
	struct egs_claim_list claims;
	struct egs_claim_owner *owner;
	uint32_t n, room;
	bool restore_done; /* the daemon's claims were read */
};

/* The job's position in the queue; false: the daemon has not decided about it.
 */
bool egs_claim_owner_position(const job_record_t *job,
			      struct egs_queue_position *position);

/* Has the claim of this job led to a preemption?  After victims are chosen,
 * Slurm may still decide against the preemption.
 */
bool egs_claim_owner_has_preempted(const struct egs_claim_owners *o,
				   uint32_t job_id);

/* Replace the claims of 'job' by the claim 'like' on each of 'nodes'.  True if
 * they changed or the daemon did not get them.
 */
bool egs_claim_owners_put(struct egs_claim_owners *o, const job_record_t *job,
			  const struct egs_claim *like, const bitstr_t *nodes);

/* Remember that the daemon did not get the claims of this job. */
void egs_claim_owners_set_unsent(struct egs_claim_owners *o, uint32_t job_id);

/* The claims of this job are on GPUs that it has just left, not on those of
 * victims.
 */
void egs_claim_owners_set_for_itself(struct egs_claim_owners *o,
				     uint32_t job_id);

/* End the claims of a job; end all claims that are obsolete, and update the
 * queue position of the others.
 */
void egs_claim_owners_drop(struct egs_claim_owners *o, uint32_t job_id);
void egs_claim_owners_sweep(struct egs_claim_owners *o);

/* After a restart: restore the claims from the table, once it is fresh. */
void egs_claim_owners_restore(struct egs_claim_owners *o);

#endif
