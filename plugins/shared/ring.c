/* ring.c - ring the daemon's doorbell about a job */
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "plugins/shared/ring.h"

enum { MAX_PER_SECOND = 32 };

static struct {
	_Atomic int fd;
	_Atomic time_t second;
	_Atomic uint32_t rings; /* in that second */
} self = { .fd = -1 };

bool egs_ring_send(const char *run_dir, struct egs_doorbell_msg *bell)
{
	bell->magic = EGS_DOORBELL_MAGIC;
	return run_dir && egs_doorbell_ring(&self.fd, run_dir, bell) == 0;
}

void egs_ring_job(const char *run_dir, uint32_t job_id,
		  enum egs_doorbell_event what)
{
	struct egs_doorbell_msg bell = { .event = what, .job_id = job_id };

	egs_ring_send(run_dir, &bell);
}

void egs_ring_job_limited(const char *run_dir, uint32_t job_id,
			  enum egs_doorbell_event what)
{
	time_t now = time(NULL);

	if (atomic_exchange(&self.second, now) != now)
		atomic_store(&self.rings, 0);
	if (atomic_fetch_add(&self.rings, 1) < MAX_PER_SECOND)
		egs_ring_job(run_dir, job_id, what);
}
