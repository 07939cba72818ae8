/* conf_fuzz.c - any file is accepted or refused with sentences
 *
 * The seed is constant, so the files are the same every time.
 */
#include <stdint.h>

#include "common/base/array.h"
#include "t/lib/unit/conf_file.h"
#include "t/lib/unit/random.h"
#include "t/lib/unit/tap.h"

#define ROUNDS 2000

static const char *const pieces[] = {
	"TierOrder=a,b\n",
	"Tier=a ",
	"Tier=b ",
	"Team=t ",
	"Phase=train ",
	"Workload=w ",
	"GpuType=h100 ",
	"\n",
	"\n",
	" ",
	"\\\n",
	"#",
	"\"",
	"=",
	",",
	"Accounts=x*",
	"Accounts=",
	"Quota=h100:8",
	"Quota=8",
	"Tiers=a,b",
	"DefaultTier=b",
	"Loan=always",
	"Yields=no",
	"MinRuntime=",
	"15m",
	"1-00:00:00",
	"Gpus=",
	"8-64",
	"any",
	"none",
	"all",
	"Team=t",
	"Phase=eval",
	"Floor=h100:9",
	"Rating=2.3",
	"Price=",
	"Include egs.conf",
	"Include nothing",
	"Port=1",
	"Mode=enforce",
	"Partitions=p,q",
	"Qos=q",
	"Spill=no",
	"Nodes=n[1-2]",
	"\001",
	"\xff",
	"\xc3\xa9",
	"\r\n",
	"\t",
	"99999999999999999999",
	"MaxGpus=h100:1",
	"MaxGpuHours=3/week",
};

static const char good[] =
	"Partitions=gpu,low\nTierOrder=a,b\nGpuType=h100 Rating=2.3\n"
	"Tier=a MinRuntime=1h MaxPreemptions=3/day AllowAccounts=x*\n"
	"Tier=b Loan=always GraceMax=2m NoRequeue=cancel Partitions=low\n"
	"Team=t Accounts=t,u* Quota=h100:16 \\\n Tiers=a,b DefaultTier=b\n"
	"Phase=prep Gpus=0 OutOfRange=adjust # none\n"
	"Workload=w Team=t Phase=infer Gpus=4-8 Floor=h100:8\n";

static void compose(char *text, size_t size, uint64_t *seed)
{
	uint32_t count = random_below(seed, 60);
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < count; i++) {
		const char *piece =
			pieces[random_below(seed, ARRAY_SIZE(pieces))];
		size_t len = strlen(piece);

		if (used + len >= size)
			break;
		memcpy(text + used, piece, len + 1);
		used += len;
		if (used && random_below(seed, 200) == 0)
			text[random_below(seed, (uint32_t)used)] =
				(char)(random_below(seed, 255) + 1);
	}
}

/* A good file with a few bytes changed. */
static void spoil(char *text, uint64_t *seed)
{
	memcpy(text, good, sizeof(good));
	for (uint32_t i = random_below(seed, 4); i > 0; i--)
		text[random_below(seed, sizeof(good) - 1)] =
			(char)(random_below(seed, 255) + 1);
}

/* Is this one line without control characters? */
static bool is_sentence(const char *text)
{
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return false;
	return *text;
}

static void ignore(void *arg, const struct egs_conf_value *value)
{
	*(size_t *)arg += strlen(value->text);
}

int main(void)
{
	uint64_t seed = 1;
	char text[2048];
	size_t shown = 0;
	int read = 0;
	int bad = 0;

	plan_none();
	conf_enter();
	for (int i = 0; i < ROUNDS; i++) {
		struct egs_conf *conf;

		if (i % 2)
			spoil(text, &seed);
		else
			compose(text, sizeof(text), &seed);
		conf = conf_load(text);
		read += conf != NULL;
		bad += (conf == NULL) != (conf_problems.count > 0);
		for (size_t j = 0; j < conf_problems.stored; j++)
			bad += !is_sentence(conf_problems.list[j].err.msg);
		if (conf)
			egs_conf_for_each_value(conf, ignore, &shown);
		egs_conf_free(conf);
	}
	is_int(bad, 0, "%d files are accepted or refused with sentences",
	       ROUNDS);
	ok(read > 0 && read < ROUNDS && shown > 0,
	   "some files are accepted and some refused: %d accepted", read);
	conf_leave();
	return done_testing();
}
