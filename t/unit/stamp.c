/* stamp.c - the marked word in AdminComment, and words that only look like it
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/hint/stamp.h"
#include "t/lib/unit/tap.h"

#define TRAIN "egs:1;phase=train;id=0123456789abcdef"
#define EVAL  "egs:1;phase=eval;id=fedcba9876543210"
#define PLAIN "egs:1;id=00000000000000ff"

#define SITE "egs:1;phase=distill;id=00000000000000ff"
#define FULL                                                         \
	"egs:1;phase=train,tier=prod,workload=fraud/retrain,"        \
	"ckpt=signal:B:USR1@60,save-time=90s,exit=finish,quiet=yes;" \
	"sig=B:TERM@300;id=0123456789abcdef"

static const struct egs_stamp train = { .hint.phase = "train",
					.nonce = 0x0123456789abcdef };
static const struct egs_stamp eval = { .hint.phase = "eval",
				       .nonce = 0xfedcba9876543210 };
static const struct egs_stamp plain = { .nonce = 0xff };
static const struct egs_stamp site = { .hint.phase = "distill", .nonce = 0xff };
static const struct egs_stamp signalled = { .nonce = 0xff,
					    .own_signal.number = SIGUSR1 };
static const struct egs_stamp none = { .nonce = 42 };
static const struct egs_stamp full = {
	.hint = { .phase = "train",
		  .tier = "prod",
		  .workload = "fraud/retrain",
		  .ckpt = "signal:B:USR1@60",
		  .save_time = "90s",
		  .exit = "finish",
		  .quiet = "yes" },
	.nonce = 0x0123456789abcdef,
	.own_signal = { SIGTERM, 300, true },
};

static bool same(const struct egs_stamp *a, const struct egs_stamp *b)
{
	char one[EGS_STAMP_MAX + 1], other[EGS_STAMP_MAX + 1];

	egs_stamp_format(a, one, sizeof(one));
	egs_stamp_format(b, other, sizeof(other));
	return !strcmp(one, other);
}

/* Which stamp a comment carries, if any. */
static const struct {
	const char *comment;
	const struct egs_stamp *stamp;
	const char *what;
} finds[] = {
	{ NULL, NULL, "no comment" },
	{ "", NULL, "an empty comment" },
	{ " \t\n ", NULL, "a comment of white space" },
	{ "ask ops@site before killing", NULL, "somebody's words" },
	{ TRAIN, &train, "a stamp alone" },
	{ PLAIN, &plain, "a stamp without a hint" },
	{ "ticket 4711 " TRAIN, &train, "words before" },
	{ TRAIN " ticket 4711", &train, "words after" },
	{ "ticket\n" TRAIN "\n4711", &train, "lines around it" },
	{ TRAIN " " EVAL, &train, "two stamps: the first" },
	{ "x" TRAIN, NULL, "a word that goes on to the left" },
	{ TRAIN "x", NULL, "a word that goes on to the right" },
	{ TRAIN ",x", NULL, "a comma is no white space" },
	{ TRAIN "x " EVAL, &eval, "a malformed one, then a good one" },
	{ "\"" TRAIN "\"", NULL, "in quotes" },
	{ "egs:1;", NULL, "the mark alone" },
	{ "egs:1", NULL, "half a mark" },
	{ "egs:1;;id=0123456789abcdef", NULL, "an empty hint" },
	{ "egs:1;id=", NULL, "no nonce" },
	{ "egs:1;id=0123456789abcde", NULL, "15 digits" },
	{ "egs:1;id=0123456789abcdef0", NULL, "17 digits" },
	{ "egs:1;id=0123456789ABCDEF", NULL, "upper case digits" },
	{ "egs:1;id=0x23456789abcdef", NULL, "a prefix for digits" },
	{ "egs:1;id=-123456789abcdef", NULL, "a sign for a digit" },
	{ "egs:1;phase=train", NULL, "a hint without a nonce" },
	{ "egs:1;id=0123456789abcdef;phase=train", NULL, "the wrong order" },
	{ "egs:1;phase=training;id=0123456789abcdef", NULL, "an alias" },
	{ "egs:1;phase=lunch,x;id=0123456789abcdef", NULL, "no key" },
	{ "egs:1;phase=$(id);id=0123456789abcdef", NULL, "no name" },
	{ "egs:1;group=4;id=0123456789abcdef", NULL, "a later key" },
	{ FULL, &full, "all of it" },
	{ SITE, &site, "a phase of the site" },
	{ "egs:1;sig=USR1;id=00000000000000ff", &signalled, "a signal alone" },
	{ "egs:1;sig=SIGUSR1;id=00000000000000ff", NULL, "its other name" },
	{ "egs:1;sig=10;id=00000000000000ff", NULL, "its number" },
	{ "egs:1;sig=;id=00000000000000ff", NULL, "no signal" },
	{ "egs:1;sig=USR1@;id=00000000000000ff", NULL, "half of one" },
	{ "egs:1;sig=USR1;phase=train;id=0123456789abcdef", NULL,
	  "a signal before the hint" },
	{ "egs:1;sig=USR1;sig=USR1;id=00000000000000ff", NULL,
	  "a signal twice" },
	{ "egs:1;tier=prod,phase=train;id=0123456789abcdef", NULL,
	  "keys in another order" },
	{ "egs:1;phase=train;phase=train;id=0123456789abcdef", NULL,
	  "a key twice" },
	{ "egs:2;phase=train;id=0123456789abcdef", NULL, "another layout" },
	{ "EGS:1;phase=train;id=0123456789abcdef", NULL, "an upper case mark" },
};

static void test_find(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(finds); i++) {
		struct egs_stamp got = none;
		int rc = egs_stamp_find(finds[i].comment, &got);
		const struct egs_stamp *want = finds[i].stamp;

		ok(rc == (want ? 0 : -1) && same(&got, want ? want : &none),
		   "%s: %s", finds[i].what, want ? "found" : "no stamp");
	}
}

/* What putting a stamp makes of a comment. */
static const struct {
	const char *before;
	const struct egs_stamp *stamp;
	const char *after, *what;
} puts_[] = {
	{ NULL, &train, TRAIN, "into no comment" },
	{ "", &train, TRAIN, "into an empty comment" },
	{ "", &plain, PLAIN, "a stamp without a hint" },
	{ "", &full, FULL, "a stamp with everything" },
	{ "ticket 4711", &train, "ticket 4711 " TRAIN, "behind words" },
	{ "ticket ", &train, "ticket " TRAIN, "behind white space" },
	{ TRAIN, &eval, EVAL, "in place of a stamp" },
	{ "a  " TRAIN "\tb", &eval, "a  " EVAL "\tb", "words around it stay" },
	{ "a " TRAIN " b " TRAIN " c", &eval, "a " EVAL " b c",
	  "two stamps become one" },
	{ TRAIN " " EVAL " " PLAIN, &eval, EVAL, "so do three" },
	{ "egs:1;forged a", &eval, EVAL " a", "in place of a forged one" },
	{ "xegs:1;a egs:2;b", &eval, "xegs:1;a egs:2;b " EVAL,
	  "a word without the mark stays" },
};

static void test_put(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(puts_); i++) {
		char *once = egs_stamp_insert(puts_[i].before, puts_[i].stamp);
		char *twice = egs_stamp_insert(once, puts_[i].stamp);
		struct egs_stamp got = none;

		is_str(once, puts_[i].after, "put %s", puts_[i].what);
		is_str(twice, once, "again changes nothing");
		ok(egs_stamp_find(once, &got) == 0 &&
			   same(&got, puts_[i].stamp),
		   "and it is found there");
		free(once);
		free(twice);
	}
}

static void test_format(void)
{
	char buf[EGS_STAMP_MAX + 1] = "";
	size_t size = sizeof(TRAIN);

	is_int(egs_stamp_format(&train, buf, size), (int)size - 1,
	       "a buffer of just the size is enough");
	is_str(buf, TRAIN, "for the whole word");
	is_int(egs_stamp_format(&train, buf, size - 1), -1,
	       "one byte less is not");
	is_str(buf, "", "and leaves no half of a stamp");
	is_int(egs_stamp_format(&train, buf, 0), -1, "no buffer, no stamp");
}

/* A job that is stamped again and again, as at every requeue. */
static void test_growth(void)
{
	char *comment = strdup("ticket 4711");
	size_t longest = 0;

	for (int i = 0; comment && i < 1000; i++) {
		char *next = egs_stamp_insert(comment, i % 2 ? &train : &plain);

		free(comment);
		comment = next;
		if (comment && strlen(comment) > longest)
			longest = strlen(comment);
	}
	is_str(comment, "ticket 4711 " TRAIN, "a thousand stamps leave one");
	is_int((int)longest, (int)sizeof("ticket 4711 " TRAIN) - 1,
	       "and never were more");
	free(comment);
}

/* An AdminComment of 4 MiB, of words and of marks. */
static void test_huge(void)
{
	static const char *const fills[] = { "x", "x ", "egs:1;", "egs:1; " };
	static char big[(4 << 20) + 1];
	size_t size = sizeof(big) - 1;

	for (size_t i = 0; i < ARRAY_SIZE(fills); i++) {
		size_t len = strlen(fills[i]);
		struct egs_stamp got = none;
		char *after;

		for (size_t j = 0; j < size; j++)
			big[j] = fills[i][j % len];
		big[size] = '\0';
		is_int(egs_stamp_find(big, &got), -1,
		       "no stamp in 4 MiB of '%s'", fills[i]);
		after = egs_stamp_insert(big, &train);
		ok(after && strlen(after) <= size + sizeof(TRAIN),
		   "putting one adds no more than its length");
		ok(after && egs_stamp_find(after, &got) == 0 &&
			   same(&got, &train),
		   "and it is found there");
		free(after);
	}
}

int main(void)
{
	plan_none();
	test_find();
	test_put();
	test_format();
	test_growth();
	test_huge();
	return done_testing();
}
