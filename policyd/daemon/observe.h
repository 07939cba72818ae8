/* observe.h - record what observe mode does not do */
#ifndef EGS_DAEMON_OBSERVE_H
#define EGS_DAEMON_OBSERVE_H

#include <stddef.h>

#include "common/base/err.h"
#include "policyd/cluster/cluster.h"

struct egs_daemon;

struct egs_observed_pair {
	struct egs_identity requester, victim;
};

struct egs_observe_waiting {
	uint32_t job_id;
	int32_t site_factor;
};

struct egs_observe {
	struct egs_observed_pair *pair; /* whose requester waits */
	size_t npairs, pair_room;
	struct egs_observe_waiting *waiting; /* to be looked at, in order */
	size_t nwaiting, next_waiting, waiting_room;
};

/* Once a second: record which jobs would be preempted for which if EGS did not
 * only observe, and when the latter really start.
 */
void egs_daemon_observe_tick(struct egs_daemon *d);

/* Record a SHRINK or IDLE_RECLAIM because of idle GPUs that is not done. */
void egs_daemon_observe_idle(struct egs_daemon *d, const struct egs_action *a);

/* Continue with the records of an earlier daemon. */
int egs_daemon_restore_observed(struct egs_daemon *d, struct egs_err *err);
void egs_daemon_free_observed(struct egs_daemon *d);

#endif
