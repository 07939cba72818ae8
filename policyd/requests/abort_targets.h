/* abort_targets.h - the jobs that a user may abort, hold or release together
 *
 * The owner of a job may, an operator, and the lead of its team: a user who
 * coordinates the job's account in Slurm.  A job of somebody else is refused if
 * it is named, and left alone if only its workload is named.
 */
#ifndef EGS_REQUESTS_ABORT_TARGETS_H
#define EGS_REQUESTS_ABORT_TARGETS_H

#include "common/base/idmap.h"
#include "policyd/requests/requests.h"

struct egs_abort_target {
	uint32_t job_id;
	uint32_t depends_on; /* chosen because of this job, 0: for itself */
	uint32_t wish_before;
	bool changed; /* its wish is the new one */
};

struct egs_abort_targets {
	struct egs_daemon *d;
	uid_t uid;     /* who asks */
	uint32_t wish; /* EGS_WISH_*, without EGS_WISH_BY_ADMIN */
	/* Leave out jobs that were submitted later; 0: none.  Slurm reuses
	 * ids, and a user decides by a list of jobs.
	 */
	egs_time_t as_of;
	struct egs_abort_target *list;
	size_t n, room;
	struct egs_idmap jobs;	 /* ids of the list */
	struct egs_idmap arrays; /* ids of their arrays */
};

/* Returns the name of the user, if the user may abort, hold and release the
 * job; else NULL.
 */
const char *egs_abort_allowed_as(const struct egs_daemon *d, uid_t uid,
				 const struct egs_job *j);

/* Choose the jobs of "job" (12, 12_3) or "workload" (NAME, NAME/STAGE) in a
 * request.  Returns 0, or -1 with 'err' set if there is none, if the user may
 * not, or if the wish is not possible for one of them.
 */
int egs_abort_choose(struct egs_abort_targets *t, const struct egs_msg *request,
		     struct egs_err *err);

/* Add the pending jobs that could never start without a chosen job, and those
 * that could not without them.  Jobs that the user may not abort stay.
 * Returns 0, or -1 with 'err' set.
 */
int egs_abort_add_dependents(struct egs_abort_targets *t, struct egs_err *err);

void egs_abort_free_targets(struct egs_abort_targets *t);

#endif
