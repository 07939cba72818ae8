/* hint.c - the hint grammar, and what hostile hints are told */
#include <string.h>

#include "policyd/core/array.h"
#include "policyd/wire/hint.h"
#include "t/lib/tap.h"

#define PHASES " (phases: prep, train, eval, infer, retrain)"
#define KEYS   " (keys: phase)"
#define X64    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

/* What is typed, its canonical text or NULL, the refusal or NULL. */
static const struct {
	const char *text, *canonical, *refusal;
} rows[] = {
	{ "", "", NULL },
	{ "phase=prep", "phase=prep", NULL },
	{ "phase=train", "phase=train", NULL },
	{ "phase=eval", "phase=eval", NULL },
	{ "phase=infer", "phase=infer", NULL },
	{ "phase=retrain", "phase=retrain", NULL },
	{ "phase=training", "phase=train", NULL },
	{ "phase=inference", "phase=infer", NULL },
	{ "phase=Evaluation", "phase=eval", NULL },
	{ "phase=RETRAIN", "phase=retrain", NULL },
	{ "phase=trian", NULL,
	  "--phase=trian is not a phase; did you mean 'train'?" PHASES },
	{ "phase=inferense", NULL,
	  "--phase=inferense is not a phase; did you mean "
	  "'inference'?" PHASES },
	{ "phase=lunch", NULL, "--phase=lunch is not a phase" PHASES },
	{ "phase=", NULL, "--phase is empty" PHASES },
	{ "phase", NULL, "--phase is empty" PHASES },
	{ "phase=train=4", NULL,
	  "--phase=train=4 is not a phase; did you mean 'train'?" PHASES },
	{ "phase= train", NULL,
	  "--phase= train is not a phase; did you mean 'train'?" PHASES },
	{ "phase=train\n", NULL,
	  "--phase=train? is not a phase; did you mean 'train'?" PHASES },
	{ "phase=\033[2J", NULL, "--phase=?[2J is not a phase" PHASES },
	{ "phase=$(id)", NULL, "--phase=$(id) is not a phase" PHASES },
	{ "phase=../../etc", NULL, "--phase=../../etc is not a phase" PHASES },
	{ "phase=%s%n", NULL, "--phase=%s%n is not a phase" PHASES },
	{ "phase=\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", NULL,
	  "--phase=\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d is not a phase" PHASES },
	{ "phase=\xe2\x80\xaeniart", NULL,
	  "--phase=?niart is not a phase" PHASES },
	{ "phase=" X64, NULL, "--phase=" X64 " is not a phase" PHASES },
	{ "phase=" X64 "x", NULL,
	  "--phase=" X64 "... is longer than 64 bytes" PHASES },
	{ "phase=train,phase=train", NULL, "phase is given twice in a hint" },
	{ "phase=train,phase=eval", NULL, "phase is given twice in a hint" },
	{ "phase=train,", NULL,
	  "empty key in a hint, want key=value,key=value" },
	{ ",phase=train", NULL,
	  "empty key in a hint, want key=value,key=value" },
	{ "=train", NULL, "'' is not a key of a hint" KEYS },
	{ "train", NULL, "'train' is not a key of a hint" KEYS },
	{ "phse=train", NULL,
	  "'phse' is not a key of a hint; did you mean 'phase'?" KEYS },
	{ "PHASE=train", NULL,
	  "'PHASE' is not a key of a hint; did you mean 'phase'?" KEYS },
	{ " phase=train", NULL,
	  "' phase' is not a key of a hint; did you mean 'phase'?" KEYS },
	{ "phase\r=train", NULL,
	  "'phase?' is not a key of a hint; did you mean 'phase'?" KEYS },
	{ X64 "x=1", NULL, "'" X64 "...' is not a key of a hint" KEYS },
};

static void test_table(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct egs_hint hint = { .phase = "" };
		struct egs_err err = { "" };
		char text[EGS_HINT_MAX + 1] = "?";
		int rc = egs_hint_parse(&hint, rows[i].text, &err);

		if (rows[i].refusal) {
			ok(rc == -1 && egs_hint_empty(&hint),
			   "row %zu is refused and changes nothing", i);
			is_str(err.msg, rows[i].refusal, "row %zu says why", i);
			continue;
		}
		is_int(rc, 0, "'%s' is a hint", rows[i].text);
		is_int(egs_hint_format(&hint, text, sizeof(text)),
		       (int)strlen(rows[i].canonical), "and has a length");
		is_str(text, rows[i].canonical, "and a canonical text");
		is_int(egs_hint_empty(&hint), !*rows[i].canonical,
		       "and is empty only without keys");
	}
}

static void test_later(void)
{
	static const char *const later[] = {
		"tier",
		"workload",
		"ckpt",
		"save-time",
		"phase-gpus",
		"preload",
		"exit",
		"restart",
		"acks",
		"group",
		"quiet",
		"max-gpu-hours",
		"requeue-at-limit",
	};

	for (size_t i = 0; i < ARRAY_SIZE(later); i++) {
		struct egs_hint hint = { .phase = "eval" };
		struct egs_err err = { "" };
		char want[64];

		snprintf(want, sizeof(want), "%s is not in this version",
			 later[i]);
		is_int(egs_hint_set(&hint, later[i], "1", &err), -1,
		       "%s is a key of a later version", later[i]);
		is_str(err.msg, want, "and is refused as such");
		is_str(hint.phase, "eval", "and changes nothing");
	}
}

static void test_set(void)
{
	struct egs_hint hint = { .phase = "" };
	struct egs_err err = { "" };

	ok(egs_hint_empty(&hint), "all zero is the empty hint");
	is_int(egs_hint_set(&hint, "phase", "train", &err), 0, "set a key");
	is_int(egs_hint_set(&hint, "phase", "inference", &err), 0,
	       "set it again, as with an option given twice");
	is_str(hint.phase, "infer", "the last one counts");
	is_int(egs_hint_set(&hint, "phase", "trian", &err), -1, "not a typo");
	is_str(hint.phase, "infer", "which leaves the hint as it was");
	is_int(egs_hint_parse(&hint, "", &err), 0, "an empty text");
	is_str(hint.phase, "infer", "leaves it as well");
	is_int(egs_hint_set(&hint, "phase", "x", NULL), -1, "err may be NULL");
}

static void test_partial(void)
{
	struct egs_hint hint = { .phase = "eval" };
	struct egs_err err = { "" };

	is_int(egs_hint_parse(&hint, "phase=train,ckpt=60", &err), -1,
	       "one bad key refuses the whole text");
	is_str(hint.phase, "eval", "and the good one before it is not kept");
	is_str(err.msg, "ckpt is not in this version", "the bad one is named");
}

static void test_format(void)
{
	struct egs_hint hint = { .phase = "train" };
	char buf[16] = "before";

	is_int(egs_hint_format(&hint, buf, sizeof("phase=train")), 11,
	       "a buffer of just the size is enough");
	is_int(egs_hint_format(&hint, buf, sizeof("phase=train") - 1), -1,
	       "one byte less is not");
	is_str(buf, "", "and leaves no half of a hint");
	is_int(egs_hint_format(&hint, buf, 0), -1, "no buffer, no hint");
}

/* A long text where a key, a value or a separator should be. */
static void test_huge(void)
{
	static const char *const starts[] = { "", "phase=", "phase=train,",
					      "phase=train,phase" };
	static char big[(4 << 20) + 1];
	size_t size = sizeof(big) - 1;

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		struct egs_hint hint = { .phase = "" };
		struct egs_err err = { "" };

		memset(big, i % 2 ? 'x' : ',', size);
		memcpy(big, starts[i], strlen(starts[i]));
		big[size] = '\0';
		is_int(egs_hint_parse(&hint, big, &err), -1,
		       "4 MiB after '%s' are refused", starts[i]);
		ok(strstr(err.msg, "longer than 1024 bytes") &&
			   strlen(err.msg) < 128,
		   "in a short sentence");
		is_int(egs_hint_set(&hint, "phase", big, &err), -1,
		       "and as a value");
		ok(strstr(err.msg, "longer than 64 bytes") &&
			   strlen(err.msg) < 192,
		   "in a short sentence");
		is_int(egs_hint_set(&hint, big, "x", &err), -1, "and as a key");
		ok(strlen(err.msg) < 192, "in a short sentence");
		ok(egs_hint_empty(&hint), "and change nothing");
	}
}

int main(void)
{
	plan_none();
	test_table();
	test_later();
	test_set();
	test_partial();
	test_format();
	test_huge();
	return done_testing();
}
