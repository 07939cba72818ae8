/* ring.h - ring the daemon's doorbell about a job (common/ipc/doorbell.h) */
#ifndef EGS_SHARED_RING_H
#define EGS_SHARED_RING_H

#include <stdbool.h>

#include "common/ipc/doorbell.h"

/* Report an event of a job.  'run_dir' is RunDir= of egs.conf, NULL: no daemon.
 */
void egs_ring_job(const char *run_dir, uint32_t job_id,
		  enum egs_doorbell_event what);

/* Likewise, but with a limit per second, for events of thousands of jobs at
 * once.  Beyond the limit the daemon sees the jobs at its next poll
 * (policyd/daemon/doorbell.c).
 */
void egs_ring_job_limited(const char *run_dir, uint32_t job_id,
			  enum egs_doorbell_event what);

/* Send a datagram that is filled in except for its magic.  False: it was not
 * delivered.
 */
bool egs_ring_send(const char *run_dir, struct egs_doorbell_msg *bell);

#endif
