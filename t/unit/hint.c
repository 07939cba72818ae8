/* hint.c - the hint grammar, and refusals of hostile hints */
#include <string.h>

#include "common/base/array.h"
#include "common/hint/comment_json.h"
#include "common/hint/hint.h"
#include "t/lib/unit/tap.h"

#define PHASES " (phases: prep, train, eval, infer, retrain)"
#define KEYS                                                           \
	" (keys: phase, tier, workload, ckpt, save-time, phase-gpus, " \
	"preload, exit, restart, shrink-to, idle-ok, acks, quiet)"
#define NO_GPUS	 " wants a number of GPUs for each phase, as in train:4,infer:1"
#define NO_COUNT " is not a whole number from 1 to 10000000"
#define NO_IDLE                                                           \
	" wants a time and a reason of letters, digits and '_.-', as in " \
	"60m:data-loading"
#define NOT_NAME  " is not a name; letters, digits, '_', '.' and '-' make one"
#define NO_SIGNAL " is not a signal, which is [B:]SIG[@SECS] such as B:USR1@60"
#define NO_PATH	  " is not a path of letters, digits and '_./+@%=~-'"
#define CKPTS	  " (checkpoints: auto, none, signal, file, signal:SIG, cmd:PATH)"
#define X64	  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

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
	  "--phase=" X64 "... is longer than 64 bytes" },
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
	{ "tier=prod", "tier=prod", NULL },
	{ "tier=Prod", "tier=prod", NULL },
	{ "tier=", NULL, "--tier is empty" },
	{ "tier=all", NULL, "--tier=all is a reserved word and not a name" },
	{ "tier=pr od", NULL, "--tier=pr od" NOT_NAME },
	{ "tier=$(id)", NULL, "--tier=$(id)" NOT_NAME },
	{ "tier=a;id=0", NULL, "--tier=a;id=0" NOT_NAME },
	{ "tier=a\nb", NULL, "--tier=a?b" NOT_NAME },
	{ "tier=" X64 "x", NULL, "--tier=" X64 "... is longer than 64 bytes" },
	{ "workload=fraud", "workload=fraud", NULL },
	{ "workload=Fraud/Serve", "workload=Fraud/Serve", NULL },
	{ "workload=a/b/c", NULL, "--workload=a/b/c" NOT_NAME },
	{ "workload=/b", NULL, "--workload=/b" NOT_NAME },
	{ "workload=a/", NULL, "--workload=a/" NOT_NAME },
	{ "workload=..", NULL,
	  "--workload=.. starts a name with a dot or a dash" },
	{ "workload=../x", NULL,
	  "--workload=../x starts a name with a dot or a dash" },
	{ "workload=a/..", NULL,
	  "--workload=a/.. starts a name with a dot or a dash" },
	{ "workload=\xd7\xa9", NULL, "--workload=\xd7\xa9" NOT_NAME },
	{ "ckpt=auto", "ckpt=auto", NULL },
	{ "ckpt=None", "ckpt=none", NULL },
	{ "ckpt=file", "ckpt=file", NULL },
	{ "ckpt=signal", "ckpt=signal", NULL },
	{ "ckpt=signal:USR1", "ckpt=signal:USR1", NULL },
	{ "ckpt=signal:sigusr1@60", "ckpt=signal:USR1@60", NULL },
	{ "ckpt=signal:b:term@300", "ckpt=signal:B:TERM@300", NULL },
	{ "ckpt=signal:10@0", "ckpt=signal:USR1", NULL },
	{ "ckpt=signal:34", "ckpt=signal:34", NULL },
	{ "ckpt=signal:KILL", NULL,
	  "--ckpt=signal:KILL is a signal that no job can catch" },
	{ "ckpt=signal:0", NULL, "--ckpt=signal:0" NO_SIGNAL },
	{ "ckpt=signal:65", NULL, "--ckpt=signal:65" NO_SIGNAL },
	{ "ckpt=signal:", NULL, "--ckpt=signal:" NO_SIGNAL },
	{ "ckpt=signal:USR3", NULL, "--ckpt=signal:USR3" NO_SIGNAL },
	{ "ckpt=signal:USR1@", NULL,
	  "--ckpt=signal:USR1@ has no number of seconds up to 65535 behind "
	  "the '@'" },
	{ "ckpt=signal:USR1@99999", NULL,
	  "--ckpt=signal:USR1@99999 has no number of seconds up to 65535 "
	  "behind the '@'" },
	{ "ckpt=cmd:/opt/x/save.sh", "ckpt=cmd:/opt/x/save.sh", NULL },
	{ "ckpt=cmd:./save", "ckpt=cmd:./save", NULL },
	{ "ckpt=cmd:", NULL, "--ckpt=cmd:" NO_PATH },
	{ "ckpt=cmd:$(id)", NULL, "--ckpt=cmd:$(id)" NO_PATH },
	{ "ckpt=cmd:a b", NULL, "--ckpt=cmd:a b" NO_PATH },
	{ "ckpt=flie", NULL,
	  "--ckpt=flie is not a checkpoint; did you mean 'file'?" CKPTS },
	{ "ckpt=60", NULL, "--ckpt=60 is not a checkpoint" CKPTS },
	{ "save-time=90s", "save-time=90s", NULL },
	{ "save-time=00:05:00", "save-time=5m", NULL },
	{ "save-time=90", NULL,
	  "--save-time=90 is a bare number; use 90s or 90m" },
	{ "save-time=0", NULL, "--save-time=0 is not between 1s and 1d" },
	{ "save-time=2d", NULL, "--save-time=2d is not between 1s and 1d" },
	{ "exit=yield", "exit=yield", NULL },
	{ "exit=FINISH", "exit=finish", NULL },
	{ "exit=finsh", NULL,
	  "--egs=exit=finsh is not a word; did you mean 'finish'? "
	  "(words: yield, finish)" },
	{ "quiet", "quiet=yes", NULL },
	{ "quiet=", "quiet=yes", NULL },
	{ "quiet=yes", "quiet=yes", NULL },
	{ "quiet=loud", NULL, "--egs=quiet=loud is not a word (words: yes)" },
	{ "quiet,tier=b,phase=train", "phase=train,tier=b,quiet=yes", NULL },
	{ "phase-gpus=train:4+infer:1", "phase-gpus=train:4+infer:1", NULL },
	{ "phase-gpus=Training:04+prep:0", "phase-gpus=train:4+prep:0", NULL },
	{ "phase-gpus=train:4,infer:1", NULL,
	  "'infer:1' is not a key of a hint; here phases are joined by a "
	  "plus: phase-gpus=train:4+infer:1" },
	{ "phase-gpus=", NULL, "--phase-gpus is empty" PHASES },
	{ "phase-gpus=4", NULL, "--phase-gpus=4" NO_GPUS },
	{ "phase-gpus=train:", NULL, "--phase-gpus=train:" NO_GPUS },
	{ "phase-gpus=train:-1", NULL, "--phase-gpus=train:-1" NO_GPUS },
	{ "phase-gpus=train:65536", NULL, "--phase-gpus=train:65536" NO_GPUS },
	{ "phase-gpus=train:4+", NULL, "--phase-gpus=train:4+" NO_GPUS },
	{ "phase-gpus=trian:4+infer:1", NULL,
	  "--phase-gpus=trian:4+infer:1 has 'trian', which is not a phase; "
	  "did you mean 'train'?" PHASES },
	{ "phase-gpus=$(id):4", NULL,
	  "--phase-gpus=$(id):4 has '$(id)', which is not a phase" PHASES },
	{ "phase-gpus=train:4+training:2", NULL,
	  "--phase-gpus=train:4+training:2 has train twice" },
	{ "preload=./stage.sh", "preload=./stage.sh", NULL },
	{ "preload=$(id)", NULL, "--preload=$(id)" NO_PATH },
	{ "preload=a;b", NULL, "--preload=a;b" NO_PATH },
	{ "restart=Phase", "restart=phase", NULL },
	{ "restart=never", NULL,
	  "--egs=restart=never is not a word (words: submit, phase)" },
	{ "shrink-to=2", "shrink-to=2", NULL },
	{ "shrink-to=0", NULL, "--egs=shrink-to=0" NO_COUNT },
	{ "idle-ok=60m:data-loading", "idle-ok=1h:data-loading", NULL },
	{ "idle-ok=00:05:00:x", "idle-ok=5m:x", NULL },
	{ "idle-ok=1d:a_b.c", "idle-ok=1d:a_b.c", NULL },
	{ "idle-ok=60m", NULL, "--egs=idle-ok=60m" NO_IDLE },
	{ "idle-ok=60m:", NULL, "--egs=idle-ok=60m:" NO_IDLE },
	{ "idle-ok=60m:$(id)", NULL, "--egs=idle-ok=60m:$(id)" NO_IDLE },
	{ "idle-ok=60m:a;id=0", NULL, "--egs=idle-ok=60m:a;id=0" NO_IDLE },
	{ "idle-ok=25h:x", NULL,
	  "--egs=idle-ok=25h:x is not between 1s and 1d" },
	{ "idle-ok=0:x", NULL, "--egs=idle-ok=0:x is not between 1s and 1d" },
	{ "idle-ok=5:x", NULL,
	  "--egs=idle-ok=5:x is a bare number; use 5s or 5m" },
	{ "idle-ok=", NULL, "--egs=idle-ok is empty" },
	{ "acks=8", "acks=8", NULL },
	{ "acks=ALL", "acks=all", NULL },
	{ "acks=0", NULL, "--egs=acks=0" NO_COUNT ", nor 'all'" },
	{ "acks=8x", NULL, "--egs=acks=8x" NO_COUNT ", nor 'all'" },
	{ "max-gpu-hours=500", NULL, "max-gpu-hours is not in this version" },
	{ "requeue-at-limit", NULL, "requeue-at-limit is not in this version" },
	{ "group=a/4", NULL, "group is not in this version" },
};

static void test_table(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct egs_hint hint = { .phase = "" };
		struct egs_err err = { "" };
		char text[EGS_HINT_MAX + 1] = "?";
		int rc = egs_hint_parse(&hint, rows[i].text, NULL, &err);

		if (rows[i].refusal) {
			ok(rc == -1 && egs_hint_is_empty(&hint),
			   "row %zu is refused and changes nothing", i);
			is_str(err.msg, rows[i].refusal, "row %zu says why", i);
			continue;
		}
		is_int(rc, 0, "'%s' is a hint", rows[i].text);
		is_int(egs_hint_format(&hint, text, sizeof(text)),
		       (int)strlen(rows[i].canonical),
		       "the canonical text has its length");
		is_str(text, rows[i].canonical,
		       "the hint has its canonical text");
		is_int(egs_hint_is_empty(&hint), !*rows[i].canonical,
		       "a hint is empty only without keys");
	}
}

/* The longest values that each key can have, together. */
static void test_longest(void)
{
	static const char *const keys[] = {
		"workload", "tier", "preload", "ckpt", "phase-gpus", "phase",
	};
	static const struct egs_hint_site any = { NULL, 0, true };
	struct egs_hint hint = { .exit = "finish",
				 .restart = "submit",
				 .shrink_to = "10000000",
				 .acks = "10000000",
				 .save_time = "23h59m",
				 .quiet = "yes" };
	char text[EGS_HINT_MAX + 1], value[EGS_HINT_VALUE_MAX + 1];

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		memset(value, 'x', EGS_HINT_VALUE_MAX);
		value[EGS_HINT_VALUE_MAX] = '\0';
		if (!strcmp(keys[i], "ckpt"))
			memcpy(value, "cmd:", 4);
		if (!strcmp(keys[i], "phase-gpus"))
			memcpy(value + EGS_HINT_VALUE_MAX - 2, ":1", 2);
		is_int(egs_hint_set(&hint, keys[i], value, &any, NULL), 0,
		       "64 bytes of %s", keys[i]);
	}
	ok(egs_hint_format(&hint, text, sizeof(text)) > 0,
	   "all keys fit into one hint");
}

/* phase-gpus as an option of its own, with commas; and its lookup. */
static void test_phase_gpus(void)
{
	struct egs_hint hint = { .phase = "" };
	struct egs_err err = { "" };
	const char *value = "train:4,infer:1,retrain:12";

	is_int(egs_hint_set(&hint, "phase-gpus", value, NULL, &err), 0,
	       "phase-gpus accepts commas in its option");
	is_str(hint.phase_gpus, "train:4+infer:1+retrain:12",
	       "commas become plus signs");
	is_int(egs_hint_gpus_for_phase(hint.phase_gpus, "train"), 4,
	       "the number of the first phase is found");
	is_int(egs_hint_gpus_for_phase(hint.phase_gpus, "retrain"), 12,
	       "the number of the last phase is found");
	is_int(egs_hint_gpus_for_phase(hint.phase_gpus, "infer"), 1,
	       "the number of a phase in the middle is found");
	is_int(egs_hint_gpus_for_phase(hint.phase_gpus, "eval"), -1,
	       "a phase that is not named has no number");
	is_int(egs_hint_gpus_for_phase(hint.phase_gpus, "inf"), -1,
	       "the beginning of a name is not a phase");
	is_int(egs_hint_gpus_for_phase("", "train"), -1,
	       "an empty value has no number");
}

static void test_set(void)
{
	struct egs_hint hint = { .phase = "" };
	struct egs_err err = { "" };

	ok(egs_hint_is_empty(&hint), "a hint of all zero is empty");
	is_int(egs_hint_set(&hint, "phase", "train", NULL, &err), 0,
	       "a key is set");
	is_int(egs_hint_set(&hint, "phase", "inference", NULL, &err), 0,
	       "a key is set again, as with an option given twice");
	is_str(hint.phase, "infer", "the last value counts");
	is_int(egs_hint_set(&hint, "phase", "trian", NULL, &err), -1,
	       "a misspelt phase is refused");
	is_str(hint.phase, "infer",
	       "a refused value leaves the hint unchanged");
	is_int(egs_hint_parse(&hint, "", NULL, &err), 0,
	       "an empty text is accepted");
	is_str(hint.phase, "infer", "an empty text leaves the hint unchanged");
	is_int(egs_hint_set(&hint, "phase", "x", NULL, NULL), -1,
	       "a refusal accepts NULL as err");
}

static void test_partial(void)
{
	struct egs_hint hint = { .phase = "eval" };
	struct egs_err err = { "" };

	is_int(egs_hint_parse(&hint, "phase=train,group=a/2", NULL, &err), -1,
	       "one bad key refuses the whole text");
	is_str(hint.phase, "eval", "a refused text sets none of its keys");
	is_str(err.msg, "group is not in this version",
	       "the refusal names the bad key");
}

static void test_format(void)
{
	struct egs_hint hint = { .phase = "train" };
	char buf[16] = "before";

	is_int(egs_hint_format(&hint, buf, sizeof("phase=train")), 11,
	       "a buffer of the exact size is enough");
	is_int(egs_hint_format(&hint, buf, sizeof("phase=train") - 1), -1,
	       "a buffer with one byte less is too small");
	is_str(buf, "", "a buffer that is too small gets no text");
	is_int(egs_hint_format(&hint, buf, 0), -1,
	       "a buffer of size 0 is too small");
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
		is_int(egs_hint_parse(&hint, big, NULL, &err), -1,
		       "4 MiB after '%s' are refused", starts[i]);
		ok(strstr(err.msg, "longer than 1024 bytes") &&
			   strlen(err.msg) < 128,
		   "the refusal is a short sentence");
		is_int(egs_hint_set(&hint, "phase", big, NULL, &err), -1,
		       "the text is refused as a value");
		ok(strstr(err.msg, "longer than 64 bytes") &&
			   strlen(err.msg) < 192,
		   "the refusal is a short sentence");
		is_int(egs_hint_set(&hint, big, "x", NULL, &err), -1,
		       "the text is refused as a key");
		ok(strlen(err.msg) < 256, "the refusal is a short sentence");
		ok(egs_hint_is_empty(&hint),
		   "a refused text leaves the hint unchanged");
	}
}

/* The phases that egs.conf has, built-in ones among them. */
static void test_site(void)
{
	static const char *const names[] = { "prep", "train", "distill" };
	static const struct egs_hint_site site = { names, 3, false };
	static const struct egs_hint_site any = { NULL, 0, true };
	struct egs_hint hint = { .phase = "" };
	struct egs_err err = { "" };

	is_int(egs_hint_set(&hint, "phase", "Distill", &site, &err), 0,
	       "a phase of the site is accepted");
	is_str(hint.phase, "distill",
	       "a phase of the site gets the site's spelling");
	is_int(egs_hint_set(&hint, "phase", "training", &site, &err), 0,
	       "a built-in phase is accepted beside it");
	is_int(egs_hint_set(&hint, "phase", "distil", &site, &err), -1,
	       "a misspelt phase of the site is refused");
	is_str(err.msg,
	       "--phase=distil is not a phase; did you mean 'distill'? "
	       "(phases: prep, train, eval, infer, retrain, distill)",
	       "the refusal lists the phase of the site");
	is_int(egs_hint_set(&hint, "phase", "Lunch", &any, &err), 0,
	       "any name is a phase if the site's phases are unknown");
	is_str(hint.phase, "lunch", "the name of a phase becomes lower case");
	is_int(egs_hint_set(&hint, "phase", "$(id)", &any, &err), -1,
	       "a phase that is not a name is refused");
}

/* Words that mean a built-in phase unless the site has a phase of that name. */
static void test_weak_aliases(void)
{
	static const struct {
		const char *typed, *means;
	} aliases[] = {
		{ "pretrain", "train" },  { "Finetune", "train" },
		{ "fine-tune", "train" }, { "test", "eval" },
		{ "validate", "eval" },	  { "predict", "infer" },
	};
	static const char *const names[] = { "train", "eval" };
	static const char *const own[] = { "train", "finetune" };
	static const struct egs_hint_site site = { names, 2, false };
	static const struct egs_hint_site has_own = { own, 2, false };
	static const struct egs_hint_site unknown = { NULL, 0, false };
	struct egs_hint hint = { .phase = "" };
	struct egs_err err = { "" };

	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++) {
		is_int(egs_hint_set(&hint, "phase", aliases[i].typed, &site,
				    &err),
		       0, "--phase=%s is accepted", aliases[i].typed);
		is_str(hint.phase, aliases[i].means, "--phase=%s is %s",
		       aliases[i].typed, aliases[i].means);
	}
	egs_hint_set(&hint, "phase", "finetune", &has_own, &err);
	is_str(hint.phase, "finetune", "a phase of the site is no alias");
	egs_hint_set(&hint, "phase", "Finetune", &unknown, &err);
	is_str(hint.phase, "finetune",
	       "without egs.conf the word goes to slurmctld as it is");
	egs_hint_set(&hint, "phase-gpus", "finetune:4+predict:1", &site, &err);
	is_str(hint.phase_gpus, "train:4+infer:1",
	       "--phase-gpus accepts the same words");
}

static void test_idle(void)
{
	struct egs_hint hint = { .phase = "train", .preload = "x" };
	struct egs_text list = { "?" };

	egs_hint_list_unused(&hint, &list);
	is_str(list.text, "preload", "a key that is not used is listed");
	hint = (struct egs_hint){ .phase = "train", .ckpt = "cmd:x" };
	egs_hint_list_unused(&hint, &list);
	is_str(list.text, "", "a used key is not listed");
}

static void test_fill(void)
{
	struct egs_hint hint = { .phase = "train", .tier = "prod" };
	struct egs_hint below = { .phase = "eval",
				  .tier = "silver",
				  .workload = "fraud" };
	struct egs_hint same = { .phase = "train" };
	struct egs_text differ = { "as before" };

	is_int(egs_hint_merge(&hint, &same, &differ), 0,
	       "equal hints do not differ");
	is_str(differ.text, "", "equal hints list no key");
	is_int(egs_hint_merge(&hint, &below, &differ), 2,
	       "different values are counted");
	is_str(differ.text, "phase, tier",
	       "keys with different values are listed");
	is_str(hint.phase, "train", "the upper value wins");
	is_str(hint.workload, "fraud", "a missing value comes from below");
}

static void test_saves(void)
{
	static const struct {
		const char *ckpt;
		bool alone, with_signal;
	} ways[] = {
		{ "", false, true },	       { "auto", false, true },
		{ "none", false, false },      { "file", true, true },
		{ "signal:USR1", true, true }, { "cmd:x", true, true },
	};
	static const struct egs_save_signal own = { 10, 60, false };
	static const struct egs_save_signal no_signal = { 0 };
	struct egs_save_signal signal = { 0 };
	struct egs_hint hint = { .ckpt = "signal:B:USR1@60" };

	ok(egs_hint_get_signal(&hint, &signal) && signal.number == 10 &&
		   signal.before_s == 60 && signal.to_batch_shell,
	   "--ckpt=signal:B:USR1@60 has its signal");
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		snprintf(hint.ckpt, sizeof(hint.ckpt), "%s", ways[i].ckpt);
		is_int(egs_hint_can_save(&hint, &no_signal), ways[i].alone,
		       "--ckpt=%s saves or not", ways[i].ckpt);
		is_int(egs_hint_can_save(&hint, &own), ways[i].with_signal,
		       "ckpt with --signal counts as a way to save");
	}
	ok(!egs_hint_get_signal(&hint, &signal),
	   "another value of ckpt has no signal");
}

#define REAPER "{\"OccupiedIdleGPUsJobReaper\":"

/* Comments as NVIDIA's clusters use them, and the time in seconds. */
static void test_comments(void)
{
	static const struct {
		const char *comment;
		uint32_t idle_ok_s;
	} comments[] = {
		{ REAPER "{\"exemptIdleTimeMins\":\"60\","
			 "\"reason\":\"data_loading\"}}",
		  3600 },
		{ " " REAPER " {\"reason\":\"x\",\"exemptIdleTimeMins\": 90}, "
		  "\"a\": [1, {}]} ",
		  5400 },
		{ "{\"egs\":{\"phase\":\"train\"},"
		  "\"OccupiedIdleGPUsJobReaper\":"
		  "{\"exemptIdleTimeMins\":\"1\"}}",
		  60 },
		{ REAPER "{\"exemptIdleTimeMins\":\"99999999999999999999\"}}",
		  EGS_IDLE_OK_MAX_S },
		{ REAPER "{\"exemptIdleTimeMins\":\"-1\"}}", 0 },
		{ REAPER "{\"exemptIdleTimeMins\":\"60 \"}}", 0 },
		{ REAPER "{\"exemptIdleTimeMins\":{}}}", 0 },
		{ REAPER "{}}", 0 },
		{ REAPER "\"60\"}", 0 },
		{ REAPER "{\"exemptIdleTimeMins\":\"60\"}", 0 },
		{ "{\"exemptIdleTimeMins\":\"60\"}", 0 },
		{ "my comment", 0 },
		{ "", 0 },
		{ NULL, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(comments); i++)
		is_int(egs_comment_json_get_idle_ok_s(comments[i].comment),
		       comments[i].idle_ok_s, "idle time of the comment %s",
		       comments[i].comment ? comments[i].comment : "(none)");
}

static void test_idle_ok(void)
{
	struct egs_hint hint = { .phase = "" };

	is_int(egs_hint_get_idle_ok_s(&hint), 0, "no idle-ok is no time");
	egs_hint_parse(&hint, "idle-ok=00:30:00:x", NULL, NULL);
	is_int(egs_hint_get_idle_ok_s(&hint), 1800,
	       "idle-ok is a time in seconds");
}

int main(void)
{
	plan_none();
	test_table();
	test_site();
	test_weak_aliases();
	test_fill();
	test_saves();
	test_phase_gpus();
	test_longest();
	test_idle();
	test_set();
	test_partial();
	test_format();
	test_huge();
	test_comments();
	test_idle_ok();
	return done_testing();
}
