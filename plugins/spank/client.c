/* client.c - spank_egs in sbatch, salloc and srun, as the user
 *
 * The variables touched here are those of the command's own process: what it
 * exports to the job, or to the shell that salloc starts.
 */
#include <stdlib.h>

#include "plugins/spank/spank_egs.h"

void egs_client_begin(void)
{
	unsetenv(EGS_SPANK_TWIN);
	unsetenv(EGS_SPANK_ECHO);
}

void egs_client_options(const struct egs_hint *hint, bool is_srun)
{
	if (*hint->phase)
		setenv(EGS_SPANK_PHASE, hint->phase, 1);
	else if (!is_srun || !getenv("SLURM_JOB_ID"))
		unsetenv(EGS_SPANK_PHASE);
	/* else: a step of a job, which keeps the phase of its job */
}
