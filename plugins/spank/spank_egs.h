/* spank_egs.h - the parts of the SPANK plugin, one per Slurm process
 *
 * In sbatch, salloc and srun, client.c checks the options of the user.  In
 * slurmstepd, step_env.c gives the hint to the job.  In slurmd and slurmstepd,
 * node.c prepares the node.  spank_egs.c owns the options and calls the part
 * for the process it runs in.
 */
#ifndef EGS_SPANK_EGS_H
#define EGS_SPANK_EGS_H

#include <slurm/spank.h>

#include "common/hint/hint.h"
#include "common/hint/resume_info.h"
#include "common/node/rundir.h"

/* Slurm passes the value of an option in these variables: to the batch step,
 * and to commands inside the job, which treat it as a given option (slurm-22.05
 * plugstack.c:1208).  The plugin only sends --egs, with the whole hint.
 */
#define EGS_SPANK_OPTION_PREFIX	   "_SLURM_SPANK_OPTION_egs_"
#define EGS_SPANK_INHERITED_PREFIX "SLURM_SPANK_" EGS_SPANK_OPTION_PREFIX
#define EGS_SPANK_OPTION_ENV	   EGS_SPANK_OPTION_PREFIX "egs"
#define EGS_SPANK_INHERITED_ENV	   EGS_SPANK_INHERITED_PREFIX "egs"

/* An option; all but --egs are keys of the hint. */
struct egs_spank_option {
	const char *name;
	const char *prefixed_name; /* with names=prefixed */
	const char *argument;
	const char *usage;
};

#define EGS_SPANK_OPTION_COUNT 8

extern const struct egs_spank_option egs_spank_options[EGS_SPANK_OPTION_COUNT];

/* Call 'fn' with each of these variables, for every option. */
void egs_spank_each_option_env(void (*fn)(spank_t sp, const char *name),
			       spank_t sp);

/* A variable with a part of the hint, for the job. */
struct egs_spank_variable {
	const char *name;
	size_t hint_offset; /* in struct egs_hint */
};

#define EGS_SPANK_VARIABLE_COUNT 4

extern const struct egs_spank_variable
	egs_spank_variables[EGS_SPANK_VARIABLE_COUNT];

/* srun passes variables with this prefix on, even with --export=NONE. */
#define EGS_SPANK_CKPT_ENV "SLURM_EGS_CKPT"

/* Variables that EGS sets; the job never inherits them from a shell. */
#define EGS_SPANK_PHASE_ENV	"EGS_PHASE"
#define EGS_SPANK_RESUME_ENV	"EGS_RESUME"
#define EGS_SPANK_LAST_CKPT_ENV "EGS_LAST_CKPT"
#define EGS_SPANK_RUNDIR_ENV	EGS_RUNDIR_ENV

/* The value of 'variable' in 'hint', "" if there is none. */
const char *egs_spank_get_value(const struct egs_hint *hint,
				const struct egs_spank_variable *variable);

/* Before options are read: remove the hint of the job that this command runs
 * in, because a submission has its own.  'is_srun': the command may start a
 * step, which has the phase of its job.  For other commands SBATCH_EGS is
 * converted into a variable that Slurm treats as an option, and removed.
 */
void egs_spank_client_init_env(bool is_srun);

/* The phases of egs.conf, if this host has that file. */
const struct egs_hint_site *egs_spank_client_read_site(void);

/* All options are valid: pass on 'hint' and nothing else.  Set the same hint in
 * the environment of processes that the command starts, such as salloc's shell.
 */
void egs_spank_client_pass_hint(spank_t sp, const struct egs_hint *hint,
				bool is_srun);

/* Pass on no hint. */
void egs_spank_client_drop_hint(spank_t sp);

/* In slurmstepd: complete 'hint' with what is in the environment of the step: a
 * batch script may have the whole hint there, other steps --ckpt of the job.
 */
void egs_spank_step_read_inherited(spank_t sp, struct egs_hint *hint);

/* Set the variables of 'hint' for the processes of this step.  True for a batch
 * script with a hint; then call egs_spank_step_set_resume() once Slurm has made
 * its environment.
 */
bool egs_spank_step_set_env(spank_t sp, const struct egs_hint *hint);

/* Is this step the batch script? */
bool egs_spank_step_is_batch(spank_t sp);

/* Set EGS_RESUME and announce the resume info if the job is a restart. */
void egs_spank_step_set_resume(spank_t sp);

/* In the process of a batch script that was restarted 'restarts' times: print
 * why on its error output, and set EGS_LAST_CKPT.  'delivered' is the resume
 * info that came with the job; it may belong to another run.
 */
void egs_spank_resume_announce(spank_t sp, uint32_t restarts,
			       const struct egs_resume_info *delivered);

/* In slurmd: start egs-noded. */
void egs_spank_node_start_noded(void);

/* The run directory of the job on this node. */
struct egs_spank_rundir {
	char path[EGS_RUNDIR_PATH_SIZE]; /* "": none */
	int held_fd;		/* for the mount namespace of a job, -1: none */
	struct egs_err problem; /* why there is none; "": no egs.conf */
};

/* In slurmstepd, as root, before the step runs: make the run directory of the
 * job, a new one for its first step here.  Keep the save program of the job for
 * egs-noded.  Also restart egs-noded if it has died.
 */
void egs_spank_node_prepare_step(spank_t sp, bool is_batch,
				 const char *save_program,
				 struct egs_spank_rundir *rundir);

/* In the process of a task, as root: show the run directory to a job that has a
 * mount namespace of its own (job_container/tmpfs).
 */
void egs_spank_node_show_rundir(struct egs_spank_rundir *rundir);

/* In the process of a task, as the user: tell the job why it has no run
 * directory.
 */
void egs_spank_step_print_problem(spank_t sp, const struct egs_err *problem);

/* As root, before the step starts: kill leftover processes of ended jobs on its
 * GPUs.  If processes still have them open, or the scan is not complete, write
 * a request for egs-noded into 'dirs'.
 */
void egs_spank_kill_leftovers(spank_t sp, int dirs, const char *node,
			      uint32_t job, uid_t uid);

#endif
