/* step_env.c - spank_egs in slurmstepd, for the processes of a step
 *
 * Nothing here may fail: an error in slurmstepd kills the job or drains the
 * node.
 */
#include <slurm/slurm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "plugins/spank/spank_egs.h"

bool egs_spank_step_is_batch(spank_t sp)
{
	uint32_t step = 0;

	return spank_get_item(sp, S_JOB_STEPID, &step) == ESPANK_SUCCESS &&
	       step == SLURM_BATCH_SCRIPT;
}

static const struct egs_hint_site any_phase = { .any_phase = true };

/* With --export=NIL only this variable reaches the batch step. */
static void read_batch_hint(spank_t sp, struct egs_hint *hint)
{
	char value[EGS_HINT_MAX + 1];

	if (egs_hint_is_empty(hint) &&
	    spank_getenv(sp, EGS_SPANK_INHERITED_ENV, value, sizeof(value)) ==
		    ESPANK_SUCCESS)
		egs_hint_parse(hint, value, &any_phase, NULL);
}

static void read_job_ckpt(spank_t sp, struct egs_hint *hint)
{
	char value[EGS_HINT_MAX + 1];

	if (!*hint->ckpt && spank_getenv(sp, EGS_SPANK_CKPT_ENV, value,
					 sizeof(value)) == ESPANK_SUCCESS)
		egs_hint_set(hint, "ckpt", value, &any_phase, NULL);
}

void egs_spank_step_read_inherited(spank_t sp, struct egs_hint *hint)
{
	if (egs_spank_step_is_batch(sp))
		read_batch_hint(sp, hint);
	else
		read_job_ckpt(sp, hint);
}

/* What Slurm delivered, for this run of the job or another. */
static struct egs_resume_info resume_info;

static void read_resume_info(spank_t sp)
{
	char value[EGS_RESUME_INFO_MAX];

	if (spank_getenv(sp, EGS_RESUME_INFO_ENV, value, sizeof(value)) ==
	    ESPANK_SUCCESS)
		egs_resume_info_parse(&resume_info, value);
}

static void unset_env(spank_t sp, const char *name)
{
	spank_unsetenv(sp, name);
}

/* Remove variables that a batch script has from the submitting shell. */
static void unset_inherited(spank_t sp)
{
	static const char *const names[] = {
		EGS_SPANK_RESUME_ENV, EGS_SPANK_LAST_CKPT_ENV,
		EGS_SPANK_RUNDIR_ENV, "EGS_HINT",
		"SBATCH_EGS",	      EGS_RESUME_INFO_ENV
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unset_env(sp, names[i]);
}

/* srun passes the job's variables to a step without options.  A step that was
 * started in another way keeps its variables.
 */
bool egs_spank_step_set_env(spank_t sp, const struct egs_hint *hint)
{
	struct egs_hint known = *hint;
	bool is_batch = egs_spank_step_is_batch(sp);

	egs_spank_step_read_inherited(sp, &known);
	egs_spank_each_option_env(unset_env, sp);
	if (is_batch) {
		read_resume_info(sp);
		unset_inherited(sp);
	}
	for (size_t i = 0; i < ARRAY_SIZE(egs_spank_variables); i++) {
		const struct egs_spank_variable *v = &egs_spank_variables[i];
		const char *value = egs_spank_get_value(&known, v);

		if (*value)
			spank_setenv(sp, v->name, value, 1);
		else if (is_batch)
			spank_unsetenv(sp, v->name);
	}
	return is_batch && !egs_hint_is_empty(&known);
}

/* Slurm never sets the SPANK item for the count (slurm-22.05
 * slurmstepd_job.c:595 sets another one), so read the job's variable.
 */
void egs_spank_step_set_resume(spank_t sp)
{
	char count[16] = "";
	uint32_t restarts = 0;

	if (spank_getenv(sp, "SLURM_RESTART_COUNT", count, sizeof(count)) ==
	    ESPANK_SUCCESS)
		restarts = (uint32_t)strtoul(count, NULL, 10);
	if (!restarts)
		return;
	spank_setenv(sp, EGS_SPANK_RESUME_ENV, "1", 1);
	egs_spank_resume_announce(sp, restarts, &resume_info);
}

/* Once for a step, by its first task. */
void egs_spank_step_print_problem(spank_t sp, const struct egs_err *problem)
{
	uint32_t task = 0;

	if (spank_get_item(sp, S_TASK_GLOBAL_ID, &task) == ESPANK_SUCCESS &&
	    task != 0)
		return;
	fprintf(stderr,
		"egs: %s; egs and libegs do not work in this step, and a "
		"preemption comes as SIGTERM\n",
		problem->msg);
}
