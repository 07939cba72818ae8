/* client.c - spank_egs in sbatch, salloc and srun, as the user
 *
 * This file changes variables of the command's own process, which it exports to
 * the job or to the shell that salloc starts.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/conf/conf.h"
#include "plugins/spank/spank_egs.h"

#define CONF EGS_SYSCONFDIR "/egs.conf"

static bool is_starting_step(bool is_srun)
{
	return is_srun && getenv("SLURM_JOB_ID");
}

static void unset_env(spank_t sp, const char *name)
{
	(void)sp;
	unsetenv(name);
}

static void unset_option_env(spank_t sp, const char *name)
{
	if (!strncmp(name, EGS_SPANK_OPTION_PREFIX,
		     sizeof(EGS_SPANK_OPTION_PREFIX) - 1))
		unset_env(sp, name);
}

void egs_spank_client_init_env(bool is_srun)
{
	const char *hint = getenv("SBATCH_EGS");

	egs_spank_each_option_env(
		is_starting_step(is_srun) ? unset_option_env : unset_env, NULL);
	if (is_srun || !hint)
		return;
	if (*hint)
		setenv(EGS_SPANK_INHERITED_ENV, hint, 1);
	unsetenv("SBATCH_EGS");
}

/* The result stays in memory until the command exits. */
const struct egs_hint_site *egs_spank_client_read_site(void)
{
	static const char *names[EGS_PHASES_MAX];
	static struct egs_hint_site site;
	struct egs_conf *conf;

	if (site.phases || access(CONF, R_OK) < 0)
		return &site;
	conf = egs_conf_open(CONF, NULL);
	if (conf) {
		site.nphases =
			egs_conf_list_phases(egs_conf_policy(conf), names);
		site.phases = names;
	}
	return &site;
}

static void unset_for_job(spank_t sp, const char *name)
{
	unsetenv(name);
	spank_job_control_unsetenv(sp, name);
}

void egs_spank_client_drop_hint(spank_t sp)
{
	egs_spank_each_option_env(unset_for_job, sp);
}

static void export_hint(const struct egs_hint *hint, bool is_step)
{
	for (size_t i = 0; i < ARRAY_SIZE(egs_spank_variables); i++) {
		const struct egs_spank_variable *v = &egs_spank_variables[i];
		const char *value = egs_spank_get_value(hint, v);

		if (*value)
			setenv(v->name, value, 1);
		else if (!is_step)
			unsetenv(v->name);
	}
	if (is_step)
		return;
	unsetenv(EGS_SPANK_RESUME_ENV);
	unsetenv(EGS_SPANK_LAST_CKPT_ENV);
	unsetenv(EGS_SPANK_RUNDIR_ENV);
}

void egs_spank_client_pass_hint(spank_t sp, const struct egs_hint *hint,
				bool is_srun)
{
	char text[EGS_HINT_MAX + 1];

	export_hint(hint, is_starting_step(is_srun));
	egs_spank_client_drop_hint(sp);
	if (egs_hint_format(hint, text, sizeof(text)) <= 0)
		return;
	setenv(EGS_SPANK_OPTION_ENV, text, 1);
	spank_job_control_setenv(sp, EGS_SPANK_OPTION_ENV, text, 1);
}
