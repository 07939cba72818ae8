/* spank_egs.c - the options of EGS in sbatch, salloc and srun
 *
 * Only Slurm's public headers: one source for every release.  Arguments in
 * plugstack.conf:
 *
 *	inert	accept the options and do nothing with them, so that scripts
 *		with "#SBATCH --phase" go on working at a site without EGS
 *
 * To add an option: a row in options[].
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The hooks and the plugin's name are for Slurm to find. */
#pragma GCC visibility push(default)
#include <slurm/spank.h>

SPANK_PLUGIN(egs, 1)
#pragma GCC visibility pop

#include "plugins/spank/spank_egs.h"
#include "policyd/core/array.h"
#include "policyd/wire/err.h"

static struct {
	bool inert;
	struct egs_hint hint;
} self;

struct option {
	const char *name; /* also the key of the hint */
	const char *argument;
	const char *usage;
};

static const struct option options[] = {
	{ "phase", "NAME",
	  "phase of the model's life this job is in: "
	  "prep, train, eval, infer or retrain" },
};

/* Called by Slurm for each option that is given, in the client and again in
 * slurmstepd.  Only the client may refuse.
 */
static int take_option(int index, const char *value, int remote)
{
	struct egs_err err;

	if (self.inert)
		return 0;
	if (egs_hint_set(&self.hint, options[index].name, value ? value : "",
			 NULL, &err) == 0)
		return 0;
	if (remote)
		return 0;
	slurm_error("egs: %s", err.msg);
	return -1;
}

static void read_arguments(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "inert"))
			self.inert = true;
		else
			slurm_error("egs: plugstack.conf: '%s' is no argument "
				    "of spank_egs, which has: inert",
				    egs_show(argv[i]).text);
	}
}

static bool is_client(spank_context_t where)
{
	return where == S_CTX_LOCAL || where == S_CTX_ALLOCATOR;
}

/* Slurm copies what it is given; its strings are only not called const. */
static void add_option(spank_t sp, int index)
{
	const struct option *o = &options[index];
	struct spank_option opt = {
		.name = (char *)o->name,
		.arginfo = (char *)o->argument,
		.usage = (char *)o->usage,
		.has_arg = 1,
		.val = index,
		.cb = take_option,
	};

	if (spank_option_register(sp, &opt) != ESPANK_SUCCESS)
		slurm_error("egs: Slurm does not take the option --%s",
			    o->name);
}

int slurm_spank_init(spank_t sp, int argc, char **argv)
{
	spank_context_t where = spank_context();

	if (!is_client(where) && where != S_CTX_REMOTE)
		return 0;
	read_arguments(argc, argv);
	if (is_client(where))
		egs_client_begin(where == S_CTX_LOCAL);
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		add_option(sp, (int)i);
	return 0;
}

int slurm_spank_init_post_opt(spank_t sp, int argc, char **argv)
{
	spank_context_t where = spank_context();

	(void)sp;
	(void)argc;
	(void)argv;
	if (is_client(where) && !self.inert)
		egs_client_options(&self.hint, where == S_CTX_LOCAL);
	return 0;
}

int slurm_spank_user_init(spank_t sp, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (spank_context() == S_CTX_REMOTE && !self.inert)
		egs_job_environment(sp, &self.hint);
	return 0;
}
