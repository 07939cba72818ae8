/* ring.c - tell the daemon to look at a job now */
#include <stddef.h>

#include "plugins/decide/ring.h"

static struct {
	_Atomic int fd;
} self = { .fd = -1 };

void egs_ring_with(const char *run_dir, struct egs_bell *bell)
{
	bell->magic = EGS_BELL_MAGIC;
	if (run_dir)
		egs_bell_ring(&self.fd, run_dir, bell);
}

void egs_ring(const char *run_dir, uint32_t job_id, enum egs_bell_what what)
{
	struct egs_bell bell = { .what = what, .job_id = job_id };

	egs_ring_with(run_dir, &bell);
}
