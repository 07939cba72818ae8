/* ring.c - tell the daemon to look at a job now */
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "plugins/shared/ring.h"

enum { IN_A_SECOND = 32 };

static struct {
	_Atomic int fd;
	_Atomic time_t second;	/* in which... */
	_Atomic uint32_t rings; /* ... so many were asked for */
} self = { .fd = -1 };

bool egs_ring_with(const char *run_dir, struct egs_bell *bell)
{
	bell->magic = EGS_BELL_MAGIC;
	return run_dir && egs_bell_ring(&self.fd, run_dir, bell) == 0;
}

void egs_ring(const char *run_dir, uint32_t job_id, enum egs_bell_what what)
{
	struct egs_bell bell = { .what = what, .job_id = job_id };

	egs_ring_with(run_dir, &bell);
}

void egs_ring_seldom(const char *run_dir, uint32_t job_id,
		     enum egs_bell_what what)
{
	time_t now = time(NULL);

	if (atomic_exchange(&self.second, now) != now)
		atomic_store(&self.rings, 0);
	if (atomic_fetch_add(&self.rings, 1) < IN_A_SECOND)
		egs_ring(run_dir, job_id, what);
}
