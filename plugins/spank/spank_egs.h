/* spank_egs.h - the parts of the SPANK plugin, one per Slurm process
 *
 * sbatch, salloc and srun (client.c) check the options of the user; slurmstepd
 * (step_env.c) tells the job what was understood.  Both slurmd and slurmstepd
 * see to what the node needs (node.c).  spank_egs.c owns the options and sends
 * each hook to the process it runs in.
 */
#ifndef EGS_SPANK_EGS_H
#define EGS_SPANK_EGS_H

#include <slurm/spank.h>

#include "common/hint/hint.h"
#include "common/hint/resume_info.h"
#include "common/node/rundir.h"

/* Slurm hands the value of an option on under these names: to the batch step,
 * and to the commands that are started inside the job, which take it for an
 * option they were given (slurm-22.05 plugstack.c:1208).  What leaves us is the
 * one of --egs, with the whole hint in it.
 */
#define EGS_SPANK_OPTION_PREFIX	   "_SLURM_SPANK_OPTION_egs_"
#define EGS_SPANK_INHERITED_PREFIX "SLURM_SPANK_" EGS_SPANK_OPTION_PREFIX
#define EGS_SPANK_OPTION_ENV	   EGS_SPANK_OPTION_PREFIX "egs"
#define EGS_SPANK_INHERITED_ENV	   EGS_SPANK_INHERITED_PREFIX "egs"

/* An option; all but --egs itself are keys of the hint. */
struct egs_spank_option {
	const char *name;
	const char *prefixed_name; /* its name with names=prefixed */
	const char *argument;
	const char *usage;
};

#define EGS_SPANK_OPTION_COUNT 8

extern const struct egs_spank_option egs_spank_options[EGS_SPANK_OPTION_COUNT];

/* Call 'fn' with each name above, of every option. */
void egs_spank_each_option_env(void (*fn)(spank_t sp, const char *name),
			       spank_t sp);

/* A variable that tells the job a part of its hint. */
struct egs_spank_variable {
	const char *name;
	size_t hint_offset; /* in struct egs_hint */
};

#define EGS_SPANK_VARIABLE_COUNT 3

extern const struct egs_spank_variable
	egs_spank_variables[EGS_SPANK_VARIABLE_COUNT];

/* Those that something else decides: never inherited from a shell. */
#define EGS_SPANK_PHASE_ENV	"EGS_PHASE"
#define EGS_SPANK_RESUME_ENV	"EGS_RESUME"
#define EGS_SPANK_LAST_CKPT_ENV "EGS_LAST_CKPT"
#define EGS_SPANK_RUNDIR_ENV	EGS_RUNDIR_ENV

/* The value of 'variable' in 'hint', "" if there is none. */
const char *egs_spank_get_value(const struct egs_hint *hint,
				const struct egs_spank_variable *variable);

/* Before options are read: a submission speaks for itself, so forget what the
 * job says that this command is started in.  'is_srun' tells the one command
 * that may instead start a step, which goes on in the phase of its job.  For
 * the others SBATCH_EGS becomes what Slurm takes for an option, and is gone.
 */
void egs_spank_client_init_env(bool is_srun);

/* The phases that egs.conf adds, where this host has one to read. */
const struct egs_hint_site *egs_spank_client_read_site(void);

/* All options are read and right: hand 'hint' on, and nothing but it, and let
 * the environment of what is started from here, such as the shell of salloc,
 * agree with it.
 */
void egs_spank_client_pass_hint(spank_t sp, const struct egs_hint *hint,
				bool is_srun);

/* Hand nothing on. */
void egs_spank_client_drop_hint(spank_t sp);

/* Give the processes of this step the variables of 'hint'.  True if they are a
 * batch script with something to tell, for which egs_spank_step_set_resume() is
 * called once Slurm has made its environment.
 */
bool egs_spank_step_set_env(spank_t sp, const struct egs_hint *hint);

/* Is this step the batch script? */
bool egs_spank_step_is_batch(spank_t sp);

/* Say so if the job runs again. */
void egs_spank_step_set_resume(spank_t sp);

/* In the process of a batch script that has run 'restarts' times: say why it
 * had to go, on its error output, and set EGS_LAST_CKPT.  'again' is what came
 * with the job, of this run or of another.
 */
void egs_spank_resume_announce(spank_t sp, uint32_t restarts,
			       const struct egs_resume_info *brought);

/* In slurmd: start egs-noded, beside it. */
void egs_spank_node_start_noded(void);

/* In slurmstepd, as root, before anything of the step runs: make the run
 * directory of the job, another one if this is its first step here.  Its path,
 * or "" without one.  Starts an egs-noded that has died.
 */
void egs_spank_node_prepare_step(spank_t sp, bool is_batch,
				 char path[EGS_RUNDIR_PATH_SIZE]);

/* As root, before the step starts: end what is left over of ended jobs on its
 * GPUs, and report in 'dirs' what else has them open.
 */
void egs_spank_kill_leftovers(spank_t sp, int dirs, const char *node,
			      uint32_t job);

#endif
