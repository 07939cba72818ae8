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

/* Where Slurm puts the value of --phase in the environment of the submitting
 * process; sbatch hands it to the batch step in this way.
 */
#define EGS_SPANK_TWIN "_SLURM_SPANK_OPTION_egs_phase"

/* And again under this name, which every command in the job takes for an
 * option that it was given (slurm-22.05 plugstack.c:1208).
 */
#define EGS_SPANK_ECHO "SLURM_SPANK_" EGS_SPANK_TWIN

/* What the user's options say to the processes of the job. */
#define EGS_SPANK_PHASE "EGS_PHASE"

/* Forget the options of the job that this command is started in: a submission
 * speaks for itself.  Called before options are read.
 */
void egs_client_begin(void);

/* All options are read and right: let the environment of what is started from
 * here, such as the shell of salloc, agree with 'hint'.  'is_srun' tells a
 * process that may be starting a step of a running job.
 */
void egs_client_options(const struct egs_hint *hint, bool is_srun);

/* Give the processes of this step the variables of 'hint'. */
void egs_job_environment(spank_t sp, const struct egs_hint *hint);

#endif
