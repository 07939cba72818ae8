/* options.c - the options of spank_egs, and variables it sets */
#include <ctype.h>
#include <stdio.h>

#include "common/base/array.h"
#include "plugins/spank/spank_egs.h"

const struct egs_spank_option egs_spank_options[EGS_SPANK_OPTION_COUNT] = {
	{ "phase", "egs-phase", "NAME",
	  "[egs] phase of the model's life this job is in: prep, train, eval, "
	  "infer, retrain or one of the site" },
	{ "tier", "egs-tier", "NAME",
	  "[egs] tier this job asks for; 'egsctl show tiers' lists them" },
	{ "workload", "egs-workload", "NAME[/STAGE]",
	  "[egs] model this job works on" },
	{ "ckpt", "egs-ckpt", "HOW",
	  "[egs] how this job saves when it is asked to: auto, none, file, "
	  "signal[:[B:]SIG[@SECS]] or cmd:PATH" },
	{ "save-time", "egs-save-time", "TIME",
	  "[egs] how long saving takes: 90s, 5m" },
	{ "phase-gpus", "egs-phase-gpus", "PHASE:N,...",
	  "[egs] how many GPUs this job wants in which phase" },
	{ "preload", "egs-preload", "PATH",
	  "[egs] program that fetches data ahead; kept, not run yet" },
	{ "egs", "egs", "KEY=VALUE,...",
	  "[egs] any of these in one piece, and exit=yield|finish, "
	  "restart=submit|phase, acks=N|all, quiet" },
};

const struct egs_spank_variable
	egs_spank_variables[EGS_SPANK_VARIABLE_COUNT] = {
		{ EGS_SPANK_PHASE_ENV, offsetof(struct egs_hint, phase) },
		{ "EGS_TIER", offsetof(struct egs_hint, tier) },
		{ "EGS_WORKLOAD", offsetof(struct egs_hint, workload) },
		{ EGS_SPANK_CKPT_ENV, offsetof(struct egs_hint, ckpt) },
	};

const char *egs_spank_get_value(const struct egs_hint *hint,
				const struct egs_spank_variable *variable)
{
	return (const char *)hint + variable->hint_offset;
}

/* As in Slurm, a character other than a letter or digit becomes '_'. */
static void call_with_env_name(void (*fn)(spank_t sp, const char *name),
			       spank_t sp, const char *start,
			       const char *option)
{
	char name[sizeof(EGS_SPANK_INHERITED_PREFIX) + EGS_HINT_VALUE_MAX];
	size_t len =
		(size_t)snprintf(name, sizeof(name), "%s%s", start, option);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]))
			name[i] = '_';
	fn(sp, name);
}

void egs_spank_each_option_env(void (*fn)(spank_t sp, const char *name),
			       spank_t sp)
{
	for (size_t i = 0; i < ARRAY_SIZE(egs_spank_options); i++) {
		const struct egs_spank_option *o = &egs_spank_options[i];

		call_with_env_name(fn, sp, EGS_SPANK_OPTION_PREFIX, o->name);
		call_with_env_name(fn, sp, EGS_SPANK_OPTION_PREFIX,
				   o->prefixed_name);
		call_with_env_name(fn, sp, EGS_SPANK_INHERITED_PREFIX, o->name);
		call_with_env_name(fn, sp, EGS_SPANK_INHERITED_PREFIX,
				   o->prefixed_name);
	}
}
