/* client.c - spank_egs in sbatch, salloc and srun, as the user
 *
 * The variables touched here are those of the command's own process: what it
 * exports to the job, or to the shell that salloc starts.
 */
#include <stdlib.h>

#include "plugins/spank/spank_egs.h"

static bool starts_step(bool is_srun)
{
	return is_srun && getenv("SLURM_JOB_ID");
}

void egs_client_begin(bool is_srun)
{
	unsetenv(EGS_SPANK_TWIN);
	if (!starts_step(is_srun))
		unsetenv(EGS_SPANK_HANDED);
}

void egs_client_options(const struct egs_hint *hint, bool is_srun)
{
	if (*hint->phase)
		setenv(EGS_SPANK_PHASE, hint->phase, 1);
	else if (!starts_step(is_srun))
		unsetenv(EGS_SPANK_PHASE);
}
