/* hint_sources.c - what slurmctld makes of the options a client sends */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "plugins/job_submit/hint_sources.h"
#include "t/lib/unit/tap.h"

#define OPT    "_SLURM_SPANK_OPTION_egs_"
#define PHASES "(phases: prep, train, eval, infer, retrain)"

#define CARRY OPT "egs="

/* Options, EGS_HINT and comment of a job, and the resulting hint. */
static const struct {
	const char *env[3], *hint, *comment;
	const char *canonical; /* NULL: refused */
	const char *why;       /* the refusal, or the note */
	const char *what;
} asks[] = {
	{ { "HOME=/root" },
	  NULL,
	  NULL,
	  "",
	  NULL,
	  "a variable that is not an option" },
	{ { OPT "phase=train" }, NULL, NULL, "phase=train", NULL, "--phase" },
	{ { OPT "phase=Training" },
	  NULL,
	  NULL,
	  "phase=train",
	  NULL,
	  "a phase in another spelling" },
	{ { NULL, OPT "phase=eval", NULL },
	  NULL,
	  NULL,
	  "phase=eval",
	  NULL,
	  "an option between NULL pointers" },
	{ { OPT "phase=eval", OPT "phase=prep" },
	  NULL,
	  NULL,
	  "phase=prep",
	  NULL,
	  "an option given twice" },
	{ { "_SLURM_SPANK_OPTION_other_phase=trian" },
	  NULL,
	  NULL,
	  "",
	  NULL,
	  "an option of another plugin" },
	{ { " " OPT "phase=trian" },
	  NULL,
	  NULL,
	  "",
	  NULL,
	  "a blank before the option" },
	{ { "_SLURM_SPANK_OPTION_egs" },
	  NULL,
	  NULL,
	  "",
	  NULL,
	  "half the name of an option" },
	{ { "" }, NULL, NULL, "", NULL, "an empty string" },
	{ { OPT "phase=trian" },
	  NULL,
	  NULL,
	  NULL,
	  "--phase=trian is not a phase; did you mean 'train'? " PHASES,
	  "a phase with a typo" },
	{ { OPT "phase" },
	  NULL,
	  NULL,
	  NULL,
	  "--phase is empty " PHASES,
	  "an option without a value" },
	{ { OPT "phase=" },
	  NULL,
	  NULL,
	  NULL,
	  "--phase is empty " PHASES,
	  "an option with an empty value" },
	{ { OPT "phase=a\033[31m\nb" },
	  NULL,
	  NULL,
	  NULL,
	  "--phase=a?[31m?b is not a phase " PHASES,
	  "control characters" },
	{ { OPT "phase=eval", OPT "phase=trian" },
	  NULL,
	  NULL,
	  NULL,
	  "--phase=trian is not a phase; did you mean 'train'? " PHASES,
	  "a good and a bad option" },
	{ { OPT "save_time=9s" },
	  NULL,
	  NULL,
	  "save-time=9s",
	  NULL,
	  "a dash as Slurm sends it" },
	{ { OPT "egs_save_time=9s" },
	  NULL,
	  NULL,
	  "save-time=9s",
	  NULL,
	  "an option of names=prefixed" },
	{ { OPT "group=a/2" },
	  NULL,
	  NULL,
	  NULL,
	  "group is not in this version",
	  "a key of a later version" },
	{ { OPT "phase_gpus=train:4,infer:1" },
	  NULL,
	  NULL,
	  "phase-gpus=train:4+infer:1",
	  NULL,
	  "commas in an option" },
	{ { OPT "=train" },
	  NULL,
	  NULL,
	  NULL,
	  "'' is not a key of a hint (keys: phase, tier, workload, ckpt, "
	  "save-time, phase-gpus, preload, exit, restart, shrink-to, idle-ok, "
	  "acks, quiet)",
	  "an option without a key" },
	{ { CARRY "tier=b,phase=train" },
	  NULL,
	  NULL,
	  "phase=train,tier=b",
	  NULL,
	  "a whole hint in --egs" },
	{ { CARRY "tier=b,phase=eval", OPT "phase=train" },
	  NULL,
	  NULL,
	  "phase=train,tier=b",
	  "--egs differs from an option in phase; the option is used",
	  "an option overrides --egs" },
	{ { CARRY "tier=b,tier=c" },
	  NULL,
	  NULL,
	  NULL,
	  "tier is given twice in a hint",
	  "a key given twice in --egs" },
	{ { NULL },
	  "EGS_HINT=phase=train,quiet",
	  NULL,
	  "phase=train,quiet=yes",
	  NULL,
	  "EGS_HINT" },
	{ { NULL }, "EGS_HINT=", NULL, "", NULL, "an empty EGS_HINT" },
	{ { NULL },
	  "EGS_HINTS=phase=trian",
	  NULL,
	  "",
	  NULL,
	  "a variable like EGS_HINT" },
	{ { NULL },
	  "EGS_HINT=phase=trian",
	  NULL,
	  NULL,
	  "EGS_HINT: --phase=trian is not a phase; did you mean "
	  "'train'? " PHASES,
	  "a typo in EGS_HINT" },
	{ { OPT "phase=train" },
	  "EGS_HINT=phase=eval,tier=b",
	  NULL,
	  "phase=train,tier=b",
	  "EGS_HINT differs from the options in phase; the options are used",
	  "an option overrides EGS_HINT" },
	{ { NULL },
	  NULL,
	  "{\"egs\":{\"phase\":\"train\"}}",
	  "phase=train",
	  NULL,
	  "a comment with a hint" },
	{ { NULL },
	  NULL,
	  " { \"a\" : [ 1 , { \"egs\" : 2 } , null ] , \"egs\" : "
	  "{ \"tier\" : \"b\" , \"quiet\" : true } , \"z\" : -1.5e3 } ",
	  "tier=b,quiet=yes",
	  NULL,
	  "a hint beside other JSON members" },
	{ { NULL },
	  "EGS_HINT=phase=eval",
	  "{\"egs\":{\"phase\":\"train\",\"tier\":\"b\"}}",
	  "phase=eval,tier=b",
	  "--comment differs from the other hints in phase; --comment is "
	  "ignored",
	  "EGS_HINT overrides a comment" },
	{ { NULL },
	  NULL,
	  "egs phase=trian",
	  "",
	  NULL,
	  "a comment of plain text" },
	{ { NULL },
	  NULL,
	  "{\"egs\":{\"phase\":\"trian\"}",
	  "",
	  NULL,
	  "a comment of incomplete JSON" },
	{ { NULL },
	  NULL,
	  "{\"egs\":{\"phase\":\"trian\"}} x",
	  "",
	  NULL,
	  "a comment with text behind JSON" },
	{ { NULL },
	  NULL,
	  "[\"egs\"]",
	  "",
	  NULL,
	  "a comment that is a JSON array" },
	{ { NULL }, NULL, "{}", "", NULL, "an empty object" },
	{ { NULL }, NULL, "{\"egs\":{}}", "", NULL, "an empty hint" },
	{ { NULL },
	  NULL,
	  "{\"x\":{\"egs\":{\"phase\":\"trian\"}}}",
	  "",
	  NULL,
	  "an egs member below the top" },
	{ { NULL },
	  NULL,
	  "{\"egs\":\"phase=train\"}",
	  NULL,
	  "--comment: \"egs\" is not an object",
	  "a string for an object" },
	{ { NULL },
	  NULL,
	  "{\"egs\":{\"phase\":7}}",
	  NULL,
	  "--comment: the value of 'phase' in \"egs\" is not a string",
	  "a number for a string" },
	{ { NULL },
	  NULL,
	  "{\"egs\":{\"phase\":\"tr\\u0061in\"}}",
	  "phase=train",
	  NULL,
	  "an escaped letter" },
	{ { NULL },
	  NULL,
	  "{\"egs\":{\"tier\":\"a\\u0000b\"}}",
	  NULL,
	  "--tier=a?b is not a name; letters, digits, '_', '.' and '-' make "
	  "one",
	  "an escaped NUL" },
	{ { NULL },
	  NULL,
	  "{\"egs\":{\"tier\":\"a\\u202eb\"}}",
	  NULL,
	  "--tier=a?b is not a name; letters, digits, '_', '.' and '-' make "
	  "one",
	  "text from right to left" },
	{ { NULL },
	  NULL,
	  "{\"egs\":{\"tier\":\"a\\x\"}}",
	  "",
	  NULL,
	  "an invalid escape" },
	{ { NULL },
	  NULL,
	  "{\"egs\":{\"tier\":\"a",
	  "",
	  NULL,
	  "a string without an end" },
	{ { NULL },
	  NULL,
	  "{\"egs\":{\"tier\":\"a\\",
	  "",
	  NULL,
	  "an escape without an end" },
	{ { NULL },
	  NULL,
	  "{\"egs\":{\"tier\":\"a\\u00",
	  "",
	  NULL,
	  "a numeric escape without an end" },
};

static int read_all(struct egs_hint *hint, char **env, size_t count,
		    const char *text, const char *comment, struct egs_err *err)
{
	char home[] = "HOME=/root";
	char *vars[] = { home, NULL, (char *)text };
	struct egs_hint_sources ask = { env, count, vars, ARRAY_SIZE(vars),
					comment };
	struct egs_err note = { "?" };
	int rc = egs_hint_sources_read(hint, &ask, NULL, &note, err);

	if (rc == 0 && err)
		*err = note;
	return rc;
}

static void check_asks(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++) {
		char *env[ARRAY_SIZE(asks[i].env)];
		struct egs_hint hint = { .phase = "before" };
		struct egs_err err = { "" };
		char text[EGS_HINT_MAX + 1] = "";
		int rc;

		memcpy(env, asks[i].env, sizeof(env));
		rc = read_all(&hint, env, ARRAY_SIZE(env), asks[i].hint,
			      asks[i].comment, &err);
		is_int(rc, asks[i].canonical ? 0 : -1, "%s", asks[i].what);
		egs_hint_format(&hint, text, sizeof(text));
		is_str(text,
		       asks[i].canonical ? asks[i].canonical : "phase=before",
		       "%s: the hint", asks[i].what);
		is_str(err.msg, asks[i].why ? asks[i].why : "",
		       "%s: the sentence", asks[i].what);
	}
}

static void check_no_array(void)
{
	struct egs_hint_sources ask = { .nspank = 7, .nenv = 7 };
	struct egs_hint hint = { .phase = "before" };
	struct egs_err note;

	is_int(egs_hint_sources_read(&hint, &ask, NULL, &note, NULL), 0,
	       "a count without an array is accepted");
	ok(egs_hint_is_empty(&hint),
	   "a count without an array gives an empty hint");
}

/* Megabytes in the place of a value, or of a key. */
static void check_long(const char *start, bool env)
{
	enum { BIG = 4 << 20 };
	struct egs_hint hint = { .phase = "before" };
	struct egs_err err = { "" };
	char *var = malloc(BIG + 1);

	if (!ok(var != NULL, "four megabytes can be allocated"))
		return;
	memset(var, 'x', BIG);
	memcpy(var, start, strlen(start));
	var[BIG] = '\0';
	is_int(read_all(&hint, &var, env ? 0 : 1, env ? var : NULL, NULL, &err),
	       -1, "%s and 4 MiB is refused", start);
	ok(strlen(err.msg) < 300, "the refusal of %s and 4 MiB is short",
	   start);
	is_str(hint.phase, "before",
	       "a refused source leaves the hint unchanged");
	free(var);
}

static void check_long_comments(void)
{
	enum { BIG = 4 << 20 };
	static char text[BIG + 64];
	struct egs_hint hint = { 0 };
	struct egs_err err = { "" };

	memset(text, '[', BIG);
	memcpy(text, "{\"a\":", 5);
	is_int(read_all(&hint, NULL, 0, NULL, text, &err), 0,
	       "a comment that is nested too deep is plain text");
	memset(text, 'x', BIG);
	memcpy(text, "{\"egs\":{\"tier\":\"", 16);
	memcpy(text + BIG, "\"}}", 4);
	is_int(read_all(&hint, NULL, 0, NULL, text, &err), -1,
	       "a long value in a comment is refused");
	ok(strstr(err.msg, "longer than 64 bytes") != NULL,
	   "the refusal names the reason");
}

/* What slurmctld hands to the node instead of what came. */
static void check_tell(void)
{
	struct egs_hint hint = { .phase = "train", .tier = "b" };
	char var[EGS_HINT_VAR_MAX];

	egs_hint_sources_format(&hint, var);
	is_str(var, CARRY "phase=train,tier=b",
	       "the variable for the node has the whole hint");
	ok(egs_hint_sources_is_var(var), "the variable is one of EGS");
	ok(egs_hint_sources_is_var("SLURM_SPANK_" OPT "phase=x"),
	   "a copy of the variable is one of EGS");
	ok(egs_hint_sources_is_var("EGS_HINT=x"),
	   "EGS_HINT is a variable of EGS");
	ok(!egs_hint_sources_is_var("EGS_PHASE=x"),
	   "variables for the job are not hints");
	ok(!egs_hint_sources_is_var(NULL), "no variable is not one of EGS");
}

/* Comments made of pieces of JSON by a generator that never changes. */
static void check_fuzz(void)
{
	static const char *const bits[] = {
		"{",	"}",	 "[",	       "]",	   ",",		":",
		"\"",	"\\",	 "\"egs\"",    "\"tier\"", "\"phase\"", "\"b\"",
		"true", "null",	 "1e5",	       " ",	   "\\u0041",	"\xff",
		"\n",	"train", "{\"egs\":{",
	};
	uint64_t state = 0x9e3779b97f4a7c15;
	int bad = 0;

	for (int i = 0; i < 100000; i++) {
		char text[256] = "{\"egs\":{\"tier\":";
		struct egs_hint hint = { 0 };
		struct egs_err err = { "" };
		int rc;

		for (int n = 0; n < 12; n++) {
			state = state * 6364136223846793005U + 1;
			strcat(text, bits[(state >> 33) % ARRAY_SIZE(bits)]);
		}
		rc = read_all(&hint, NULL, 0, NULL, text, &err);
		bad += rc < 0 && (!*err.msg || !egs_hint_is_empty(&hint));
	}
	is_int(bad, 0, "100000 comments of pieces break no rule");
}

int main(void)
{
	plan_none();
	check_asks();
	check_no_array();
	check_long(OPT "phase=", false);
	check_long(OPT, false);
	check_long(CARRY, false);
	check_long("EGS_HINT=", true);
	check_long_comments();
	check_tell();
	check_fuzz();
	return done_testing();
}
