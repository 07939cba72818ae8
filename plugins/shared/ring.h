/* ring.h - tell the daemon to look at a job now (common/ipc/doorbell.h) */
#ifndef EGS_SHARED_RING_H
#define EGS_SHARED_RING_H

#include <stdbool.h>

#include "common/ipc/doorbell.h"

/* Something happened to a job.  'run_dir' is that of egs.conf, NULL: there is
 * nobody to tell.
 */
void egs_ring_job(const char *run_dir, uint32_t job_id,
		  enum egs_doorbell_event what);

/* The same, but some times in a second and no more, for what may happen to
 * thousands at once: the daemon would look at no more of them (doorbell.c),
 * but when it looks at all.
 */
void egs_ring_job_limited(const char *run_dir, uint32_t job_id,
			  enum egs_doorbell_event what);

/* The same with a datagram that is filled in but for its magic.  False: nobody
 * will hear it.
 */
bool egs_ring_send(const char *run_dir, struct egs_doorbell_msg *bell);

#endif
