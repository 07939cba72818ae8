/* client.c - spank_egs in sbatch, salloc and srun, as the user
 *
 * The variables touched here are those of the command's own process: what it
 * exports to the job, or to the shell that salloc starts.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/conf/conf.h"
#include "plugins/spank/spank_egs.h"

#define CONF EGS_SYSCONFDIR "/egs.conf"

static bool starts_step(bool is_srun)
{
	return is_srun && getenv("SLURM_JOB_ID");
}

static void forget(spank_t sp, const char *name)
{
	(void)sp;
	unsetenv(name);
}

static void forget_twin(spank_t sp, const char *name)
{
	if (!strncmp(name, EGS_SPANK_TWIN, sizeof(EGS_SPANK_TWIN) - 1))
		forget(sp, name);
}

void egs_client_begin(bool is_srun)
{
	const char *asked = getenv("SBATCH_EGS");

	egs_spank_each_carrier(starts_step(is_srun) ? forget_twin : forget,
			       NULL);
	if (is_srun || !asked)
		return;
	if (*asked)
		setenv(EGS_SPANK_ENV, asked, 1);
	unsetenv("SBATCH_EGS");
}

/* Read once, and kept as long as the command runs. */
const struct egs_hint_site *egs_client_site(void)
{
	static const char *names[EGS_PHASES_MAX];
	static struct egs_hint_site site;
	struct egs_conf_problems *problems;
	struct egs_conf *conf = NULL;

	if (site.phases || access(CONF, R_OK) < 0)
		return &site;
	problems = calloc(1, sizeof(*problems));
	if (problems && egs_conf_load(&conf, CONF, problems) == 0) {
		site.nphases =
			egs_conf_phase_names(egs_conf_policy(conf), names);
		site.phases = names;
	}
	free(problems);
	return &site;
}

static void hand_nothing(spank_t sp, const char *name)
{
	unsetenv(name);
	spank_job_control_unsetenv(sp, name);
}

void egs_client_drop(spank_t sp)
{
	egs_spank_each_carrier(hand_nothing, sp);
}

static void tell(const struct egs_hint *hint, bool is_step)
{
	for (size_t i = 0; i < ARRAY_SIZE(egs_spank_variables); i++) {
		const struct egs_spank_variable *v = &egs_spank_variables[i];
		const char *value = egs_spank_value(hint, v);

		if (*value)
			setenv(v->name, value, 1);
		else if (!is_step)
			unsetenv(v->name);
	}
	if (is_step)
		return;
	unsetenv(EGS_SPANK_RESUME);
	unsetenv(EGS_SPANK_LAST_CKPT);
	unsetenv(EGS_SPANK_RUNDIR);
}

void egs_client_options(spank_t sp, const struct egs_hint *hint, bool is_srun)
{
	char text[EGS_HINT_MAX + 1];

	tell(hint, starts_step(is_srun));
	egs_client_drop(sp);
	if (egs_hint_format(hint, text, sizeof(text)) <= 0)
		return;
	setenv(EGS_SPANK_CARRIER, text, 1);
	spank_job_control_setenv(sp, EGS_SPANK_CARRIER, text, 1);
}
