/* job.c - spank_egs in slurmstepd, for the processes of a step
 *
 * Nothing here may fail: an error in slurmstepd costs a job its life, or the
 * node its place in the cluster.
 */
#include <slurm/slurm.h>

#include "plugins/spank/spank_egs.h"

static bool is_batch_step(spank_t sp)
{
	uint32_t step = 0;

	return spank_get_item(sp, S_JOB_STEPID, &step) == ESPANK_SUCCESS &&
	       step == SLURM_BATCH_SCRIPT;
}

/* A step without an option of its own keeps the variable, which came from the
 * batch script or the shell of salloc.  A batch script without one has nothing
 * to inherit: what is there came from the shell of the submission.
 */
void egs_job_environment(spank_t sp, const struct egs_hint *hint)
{
	spank_unsetenv(sp, EGS_SPANK_TWIN);
	spank_unsetenv(sp, EGS_SPANK_ECHO);
	if (*hint->phase)
		spank_setenv(sp, EGS_SPANK_PHASE, hint->phase, 1);
	else if (is_batch_step(sp))
		spank_unsetenv(sp, EGS_SPANK_PHASE);
}
