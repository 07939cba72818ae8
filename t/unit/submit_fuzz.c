/* submit_fuzz.c - 50,000 submissions that no client of ours would make
 *
 * The same ones on every machine.  Whatever comes on the roads of a hint and in
 * the fields of a job, job_submit's reading and judging of it end in a hint
 * that reads back, or in one printable sentence, and nobody gets a tier that is
 * not his team's.  Meant to run under the sanitizers.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "plugins/job_submit/check.h"
#include "plugins/job_submit/hint_sources.h"
#include "t/lib/unit/conf_file.h"
#include "t/lib/unit/random.h"
#include "t/lib/unit/tap.h"

enum { ROUNDS = 50000, TEXT = 256, VARS = 4 };

static const char rules[] =
	"Mode=enforce\nTierOrder=gold,silver,bronze\nPartitions=gpu,serve\n"
	"GpuType=a100\nGpuType=h100\n"
	"Tier=gold AllowAccounts=fraud-prod NoRequeue=refuse\n"
	"Tier=bronze AllowGroups=lab AllowUsers=carol NoRequeue=cancel\n"
	"Team=fraud Accounts=fraud* Tiers=gold,silver DefaultTier=silver\n"
	"Team=vision Accounts=vision Users=carol Tiers=silver,bronze "
	"MaxGpus=a100:8,h100:4\n"
	"Phase=prep Gpus=0 OutOfRange=adjust\nPhase=infer Partitions=serve\n"
	"Phase=train Gpus=2-4\nPhase=distill Gpus=1-2 OutOfRange=adjust\n"
	"Workload=fraud Team=fraud Phase=train Gpus=1\n";

static const char *const bits[] = {
	"_SLURM_SPANK_OPTION_egs_",
	"EGS_HINT=",
	"egs=",
	"egs_",
	"{\"egs\":{",
	"\"tier\":\"gold\"",
	"}}",
	"\"",
	":",
	",",
	"+",
	"=",
	";",
	"phase=",
	"tier=",
	"workload=",
	"phase_gpus=train:4",
	"ckpt=signal:B:USR1@60",
	"save-time=90s",
	"quiet",
	"train",
	"prep",
	"distill",
	"gold",
	"silver",
	"fraud",
	"gres:gpu",
	"gres/gpu:a100=",
	":4294967295",
	":h100:3",
	"gpu",
	"serve",
	"vision",
	"carol",
	"\n",
	"\033[2J",
	"\xe2\x80\xae",
	"\xff",
	"$(id)",
	"../",
	"%s%n",
};

static struct {
	uint64_t seed;
	int taken, refused, gold;
	int bad;
} fuzz = { .seed = 42 };

static uint32_t below(uint32_t limit)
{
	return random_below(&fuzz.seed, limit);
}

static void rule(bool kept, const char *what)
{
	if (!kept && !fuzz.bad++)
		note("%s", what);
}

/* Pieces, one after the other; sometimes NULL. */
static char *make(char text[TEXT], const char *start)
{
	size_t used = strlen(start);

	memcpy(text, start, used + 1);
	for (uint32_t n = below(6); n > 0; n--) {
		const char *bit = bits[below(ARRAY_SIZE(bits))];

		if (used + strlen(bit) < TEXT) {
			memcpy(text + used, bit, strlen(bit) + 1);
			used += strlen(bit);
		}
	}
	return below(8) ? text : NULL;
}

/* One of those that mean something, or pieces. */
static const char *pick(char text[TEXT], const char *const *names, size_t count)
{
	uint32_t i = below((uint32_t)count + 1);

	return i < count ? names[i] : make(text, "");
}

static bool printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == '\177')
			return false;
	return true;
}

static int read_roads(struct egs_hint *hint)
{
	static const char *const phases[] = { "distill" };
	static const struct egs_hint_site site = { phases, 1, false };
	char text[2 * VARS + 1][TEXT];
	char *spank[VARS], *env[VARS];
	struct egs_hint_sources ask = { spank, VARS, env, VARS, NULL };
	struct egs_err note = { "" }, why = { "" };

	for (size_t i = 0; i < VARS; i++) {
		spank[i] = make(text[i], below(3) ? "" : bits[0]);
		env[i] = make(text[VARS + i], below(3) ? "" : bits[1]);
	}
	ask.comment = make(text[2 * VARS], below(2) ? "" : bits[4]);
	if (egs_hint_sources_read(hint, &ask, &site, &note, &why) == 0) {
		rule(printable(note.msg), "a note that is not printable");
		return 0;
	}
	rule(*why.msg && printable(why.msg), "a refusal without a sentence");
	rule(egs_hint_is_empty(hint), "a refusal that changed the hint");
	return -1;
}

static void judge(const struct egs_policy_conf *conf,
		  const struct egs_hint *hint)
{
	static const char *const accounts[] = { "fraud", "fraud-prod", "vision",
						"chem" };
	static const char *const parts[] = { "gpu", "serve", "gpu,serve" };
	static const char *const gpus[] = { "gres:gpu:2", "gres:gpu:h100:4" };
	char text[7][TEXT];
	struct egs_check_input r = {
		.account = pick(text[0], accounts, ARRAY_SIZE(accounts)),
		.user = make(text[1], ""),
		.qos = make(text[2], ""),
		.partitions = pick(text[3], parts, ARRAY_SIZE(parts)),
		.hint = *hint,
		.gpus.per_job = make(text[4], ""),
		.gpus.per_node = pick(text[5], gpus, ARRAY_SIZE(gpus)),
		.gpus.per_task = make(text[6], ""),
		.gpus.nodes = below(2) ? below(9) : UINT32_MAX - below(9),
		.gpus.tasks = below(2) ? below(9) : UINT32_MAX - below(9),
		.interactive = below(2),
		.no_requeue = below(2),
		.can_checkpoint = below(2),
	};
	struct egs_check_result verdict;
	struct egs_err why = { "" };
	int rc = egs_check_job(conf, &r, &verdict, &why);

	rule(printable(why.msg) && printable(verdict.note.msg),
	     "words that are not printable");
	rule(rc == 0 || *why.msg, "a refusal without a sentence");
	fuzz.taken += rc == 0;
	fuzz.refused += rc < 0;
	if (rc < 0 || verdict.assignment.tier != 0)
		return;
	fuzz.gold++;
	rule(r.account && !strcmp(r.account, "fraud-prod"),
	     "gold for another account");
}

static void rewrite(void)
{
	char text[TEXT];
	char *old = make(text, "gres:gpu");
	char *new = old ? egs_gpu_text_rewrite(old, below(9)) : NULL;

	rule(!new || strlen(new) < strlen(text) + 16, "a request that grew");
	free(new);
}

int main(void)
{
	struct egs_conf *conf;

	plan_none();
	conf_enter();
	conf = conf_load(rules);
	if (!ok(conf != NULL, "the file is good"))
		note("%s", conf_problems.list[0].err.msg);
	for (int i = 0; conf && i < ROUNDS; i++) {
		struct egs_hint hint = { .phase = "" };

		if (read_roads(&hint) < 0)
			egs_hint_parse(&hint, "tier=gold", NULL, NULL);
		judge(egs_conf_policy(conf), &hint);
		rewrite();
	}
	is_int(fuzz.bad, 0, "%d submissions break no rule", ROUNDS);
	ok(fuzz.taken > ROUNDS / 20, "%d submissions are accepted", fuzz.taken);
	ok(fuzz.refused > ROUNDS / 20, "%d submissions are refused",
	   fuzz.refused);
	ok(fuzz.gold > ROUNDS / 100, "%d submissions get the best tier",
	   fuzz.gold);
	egs_conf_free(conf);
	conf_leave();
	return done_testing();
}
