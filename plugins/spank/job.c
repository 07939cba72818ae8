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

/* With --export=NONE the twin does not reach the batch step, but this does. */
static void read_handed(spank_t sp, struct egs_hint *hint)
{
	char value[EGS_NAME_MAX + 1];

	if (spank_getenv(sp, EGS_SPANK_HANDED, value, sizeof(value)) ==
	    ESPANK_SUCCESS)
		egs_hint_set(hint, "phase", value, NULL, NULL);
}

/* srun has passed the job's phase on to a step without one of its own, unless
 * the step was started in some other way, which keeps what it has.  A batch
 * script without one has nothing to inherit: what is there came from the shell
 * of the submission.
 */
void egs_job_environment(spank_t sp, const struct egs_hint *hint)
{
	struct egs_hint known = *hint;
	bool is_batch = is_batch_step(sp);

	if (is_batch && egs_hint_empty(&known))
		read_handed(sp, &known);
	spank_unsetenv(sp, EGS_SPANK_TWIN);
	if (*known.phase)
		spank_setenv(sp, EGS_SPANK_PHASE, known.phase, 1);
	else if (is_batch)
		spank_unsetenv(sp, EGS_SPANK_PHASE);
}
