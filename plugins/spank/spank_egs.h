/* spank_egs.h - the parts of the SPANK plugin, one per Slurm process
 *
 * sbatch, salloc and srun (client.c) check the options of the user; slurmstepd
 * (job.c) tells the job what was understood.  spank_egs.c owns the options and
 * sends each hook to the process it runs in.
 */
#ifndef EGS_SPANK_EGS_H
#define EGS_SPANK_EGS_H

#include <slurm/spank.h>

#include "policyd/wire/hint.h"

/* The names under which Slurm itself hands the value of --phase on: to the
 * batch step, and to the commands that are started inside the job, which take
 * it for an option they were given (slurm-22.05 plugstack.c:1208).
 */
#define EGS_SPANK_TWIN	 "_SLURM_SPANK_OPTION_egs_phase"
#define EGS_SPANK_HANDED "SLURM_SPANK_" EGS_SPANK_TWIN

/* What we tell the processes of the job. */
#define EGS_SPANK_PHASE "EGS_PHASE"

/* Before options are read: a submission speaks for itself, so forget what the
 * job says that this command is started in.  'is_srun' tells the one command
 * that may instead start a step, which goes on in the phase of its job.
 */
void egs_client_begin(bool is_srun);

/* All options are read and right: let the environment of what is started from
 * here, such as the shell of salloc, agree with 'hint'.
 */
void egs_client_options(const struct egs_hint *hint, bool is_srun);

/* Give the processes of this step the variables of 'hint'. */
void egs_job_environment(spank_t sp, const struct egs_hint *hint);

#endif
