/* ask.c - what slurmctld makes of the options a client sends */
#include <stdlib.h>
#include <string.h>

#include "plugins/job_submit/ask.h"
#include "policyd/core/array.h"
#include "t/lib/tap.h"

#define OPT    "_SLURM_SPANK_OPTION_egs_"
#define PHASES "(phases: prep, train, eval, infer, retrain)"

static const struct {
	const char *env[3];
	const char *phase; /* NULL: refused */
	const char *why;
	const char *what;
} asks[] = {
	{ { "HOME=/root" }, "", NULL, "no option of ours: nothing is asked" },
	{ { OPT "phase=train" }, "train", NULL, "--phase=train" },
	{ { OPT "phase=Training" }, "train", NULL, "another spelling" },
	{ { NULL, OPT "phase=eval", NULL }, "eval", NULL, "NULL around it" },
	{ { OPT "phase=eval", OPT "phase=prep" },
	  "prep",
	  NULL,
	  "twice: the last one counts" },
	{ { "_SLURM_SPANK_OPTION_other_phase=trian" },
	  "",
	  NULL,
	  "the option of another plugin is none of ours" },
	{ { " " OPT "phase=trian" }, "", NULL, "not at the start" },
	{ { "_SLURM_SPANK_OPTION_egs" }, "", NULL, "half a name" },
	{ { "" }, "", NULL, "an empty string" },
	{ { OPT "phase=trian" },
	  NULL,
	  "--phase=trian is not a phase; did you mean 'train'? " PHASES,
	  "a typo" },
	{ { OPT "phase" }, NULL, "--phase is empty " PHASES, "no value" },
	{ { OPT "phase=" }, NULL, "--phase is empty " PHASES, "empty value" },
	{ { OPT "phase=a\033[31m\nb" },
	  NULL,
	  "--phase=a?[31m?b is not a phase " PHASES,
	  "control characters" },
	{ { OPT "phase=eval", OPT "phase=trian" },
	  NULL,
	  "--phase=trian is not a phase; did you mean 'train'? " PHASES,
	  "one good, one bad" },
	{ { OPT "phase_gpus=9" },
	  NULL,
	  "phase-gpus is not in this version",
	  "an option of a later version, as Slurm spells it" },
	{ { OPT "=train" },
	  NULL,
	  "'' is not a key of a hint (keys: phase, tier, workload, ckpt, "
	  "save-time, exit, quiet)",
	  "no key" },
};

static void check_asks(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++) {
		char *env[ARRAY_SIZE(asks[i].env)];
		struct egs_hint hint = { .phase = "as before" };
		struct egs_err err = { "" };
		int rc;

		memcpy(env, asks[i].env, sizeof(env));
		rc = egs_ask_read(&hint, env, ARRAY_SIZE(env), &err);
		is_int(rc, asks[i].phase ? 0 : -1, "%s", asks[i].what);
		is_str(hint.phase, asks[i].phase ? asks[i].phase : "as before",
		       "%s: the hint", asks[i].what);
		is_str(err.msg, asks[i].why ? asks[i].why : "",
		       "%s: the sentence", asks[i].what);
	}
}

static void check_no_array(void)
{
	struct egs_hint hint = { .phase = "as before" };

	is_int(egs_ask_read(&hint, NULL, 7, NULL), 0, "no array, but a count");
	ok(egs_hint_empty(&hint), "asks for nothing");
}

/* A megabyte in the place of a value, or of a key. */
static void check_long(const char *start)
{
	enum { BIG = 1 << 20 };
	struct egs_hint hint = { .phase = "as before" };
	struct egs_err err = { "" };
	char *var = malloc(BIG + 1);
	char *env[] = { var };

	if (!ok(var != NULL, "there is a megabyte to spare"))
		return;
	memset(var, 'x', BIG);
	memcpy(var, start, strlen(start));
	var[BIG] = '\0';
	is_int(egs_ask_read(&hint, env, 1, &err), -1, "%s and 1 MB is refused",
	       start);
	ok(strlen(err.msg) < 200, "in a short sentence: %s", err.msg);
	is_str(hint.phase, "as before", "and leaves the hint alone");
	free(var);
}

int main(void)
{
	plan_none();
	check_asks();
	check_no_array();
	check_long(OPT "phase=");
	check_long(OPT);
	return done_testing();
}
