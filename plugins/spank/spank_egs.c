/* spank_egs.c - the options of EGS in sbatch, salloc and srun
 *
 * The plugin uses only Slurm's public headers, so one source fits every
 * release.  Arguments in plugstack.conf:
 *
 *	inert		accept the options and do nothing with them, so that
 *			scripts with "#SBATCH --phase" also work at a site
 *			without EGS
 *	names=prefixed	--egs-phase instead of --phase and so on, for sites
 *			where another plugin has that name
 *
 * To add an option: a row in egs_spank_options[].
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Slurm looks up the hooks and the plugin's name. */
#pragma GCC visibility push(default)
#include <slurm/spank.h>

/* cppcheck-suppress unknownMacro */
SPANK_PLUGIN(egs, 1)
#pragma GCC visibility pop

#include "common/base/array.h"
#include "common/base/err.h"
#include "plugins/spank/spank_egs.h"

/* The hints are in order of strength, the strongest first. */
static struct {
	bool inert;
	bool prefixed;
	struct egs_hint from_options;
	struct egs_hint from_egs; /* --egs */
	struct egs_hint from_env; /* SBATCH_EGS, or the job of a step */
	bool may_resume;	  /* a batch script that may be a restart */
	bool first_done;	  /* the first het component is processed */
	struct egs_spank_rundir rundir; /* of the job on this node */
} self;

/* Slurm calls on_option() for a variable, too, with the variable itself as
 * value (slurm-22.05 plugstack.c:1217).  From the second component of a
 * heterogeneous job on, that variable has the hint of the component before, not
 * SBATCH_EGS.
 */
static bool is_from_env(const char *value)
{
	return value == getenv(EGS_SPANK_INHERITED_ENV);
}

static int read_option(int index, const char *value,
		       const struct egs_hint_site *site, bool env,
		       struct egs_err *err)
{
	struct egs_hint new = { 0 };

	if (strcmp(egs_spank_options[index].name, "egs") != 0)
		return egs_hint_set(&self.from_options,
				    egs_spank_options[index].name, value, site,
				    err);
	if (egs_hint_parse(&new, value, site, err) < 0)
		return -1;
	*(env ? &self.from_env : &self.from_egs) = new;
	return 0;
}

/* The client and slurmctld have checked the option; nothing may fail here. */
static int read_remote_option(int index, const char *value)
{
	static const struct egs_hint_site any = { .any_phase = true };

	read_option(index, value, &any, false, NULL);
	return 0;
}

/* Slurm calls this for each given option, in the client and again in
 * slurmstepd. Only the client may refuse.  egs.conf is read for the site's
 * phases only if the option is invalid without them.
 */
static int on_option(int index, const char *value, int remote)
{
	struct egs_err err;
	bool env;

	if (self.inert)
		return 0;
	value = value ? value : "";
	if (remote)
		return read_remote_option(index, value);
	env = is_from_env(value);
	if (env && self.first_done)
		return 0;
	if (read_option(index, value, NULL, env, NULL) == 0 ||
	    read_option(index, value, egs_spank_client_read_site(), env,
			&err) == 0)
		return 0;
	slurm_error("egs: %s%s",
		    env && spank_context() == S_CTX_ALLOCATOR ? "SBATCH_EGS: "
							      : "",
		    err.msg);
	return -1;
}

static void read_arguments(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "inert"))
			self.inert = true;
		else if (!strcmp(argv[i], "names=prefixed"))
			self.prefixed = true;
		else
			slurm_error("egs: plugstack.conf: '%s' is not an "
				    "argument of spank_egs (arguments: inert, "
				    "names=prefixed)",
				    egs_printable(argv[i]).text);
	}
}

static bool is_client(spank_context_t where)
{
	return where == S_CTX_LOCAL || where == S_CTX_ALLOCATOR;
}

/* Slurm copies the strings, although they are not declared const. */
static void register_option(spank_t sp, int index)
{
	const struct egs_spank_option *o = &egs_spank_options[index];
	const char *name = self.prefixed ? o->prefixed_name : o->name;
	struct spank_option opt = {
		.name = (char *)name,
		.arginfo = (char *)o->argument,
		.usage = (char *)o->usage,
		.has_arg = 1,
		.val = index,
		.cb = on_option,
	};

	if (spank_option_register(sp, &opt) != ESPANK_SUCCESS)
		slurm_error("egs: Slurm rejects the option --%s", name);
}

int slurm_spank_init(spank_t sp, int argc, char **argv)
{
	spank_context_t where = spank_context();

	if (!is_client(where) && where != S_CTX_REMOTE && where != S_CTX_SLURMD)
		return 0;
	read_arguments(argc, argv);
	if (where == S_CTX_SLURMD) {
		if (!self.inert)
			egs_spank_node_start_noded();
		return 0;
	}
	if (is_client(where) && !self.inert)
		egs_spank_client_init_env(where == S_CTX_LOCAL);
	for (size_t i = 0; i < ARRAY_SIZE(egs_spank_options); i++)
		register_option(sp, (int)i);
	return 0;
}

/* Merge all hints; if 'verbose', print where they differ. */
static struct egs_hint resolve_hint(bool verbose)
{
	struct egs_hint hint = self.from_options;
	struct egs_text own, env;
	bool own_differs = egs_hint_merge(&hint, &self.from_egs, &own) > 0;
	bool env_differs = egs_hint_merge(&hint, &self.from_env, &env) > 0;

	if (!verbose || *hint.quiet)
		return hint;
	if (own_differs)
		slurm_info("egs: --egs differs from an option in %s; the "
			   "option is used",
			   own.text);
	if (env_differs)
		slurm_info("egs: SBATCH_EGS differs from the options in %s; "
			   "the options are used",
			   env.text);
	return hint;
}

/* Called once for each component of a heterogeneous job.  A component does not
 * inherit the options of the one before.
 */
int slurm_spank_init_post_opt(spank_t sp, int argc, char **argv)
{
	spank_context_t where = spank_context();
	struct egs_hint hint;

	(void)argc;
	(void)argv;
	if (where == S_CTX_REMOTE && !self.inert) {
		hint = resolve_hint(false);
		egs_spank_step_read_inherited(sp, &hint);
		egs_spank_node_prepare_step(sp, egs_spank_step_is_batch(sp),
					    egs_hint_get_program(&hint),
					    &self.rundir);
	}
	if (!is_client(where))
		return 0;
	if (self.inert) {
		egs_spank_client_drop_hint(sp);
		return 0;
	}
	hint = resolve_hint(where == S_CTX_ALLOCATOR);
	egs_spank_client_pass_hint(sp, &hint, where == S_CTX_LOCAL);
	self.from_options = self.from_egs = (struct egs_hint){ 0 };
	self.first_done = true;
	return 0;
}

int slurm_spank_user_init(spank_t sp, int argc, char **argv)
{
	struct egs_hint hint;

	(void)argc;
	(void)argv;
	if (spank_context() != S_CTX_REMOTE || self.inert)
		return 0;
	hint = resolve_hint(false);
	self.may_resume = egs_spank_step_set_env(sp, &hint);
	if (*self.rundir.path)
		spank_setenv(sp, EGS_SPANK_RUNDIR_ENV, self.rundir.path, 1);
	else
		spank_unsetenv(sp, EGS_SPANK_RUNDIR_ENV);
	return 0;
}

int slurm_spank_task_init_privileged(spank_t sp, int argc, char **argv)
{
	(void)sp;
	(void)argc;
	(void)argv;
	egs_spank_node_show_rundir(&self.rundir);
	return 0;
}

int slurm_spank_task_init(spank_t sp, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (*self.rundir.problem.msg)
		egs_spank_step_print_problem(sp, &self.rundir.problem);
	if (self.may_resume)
		egs_spank_step_set_resume(sp);
	return 0;
}
