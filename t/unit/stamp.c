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
#define FULL                                                                 \
	"egs:1;phase=train,tier=prod,workload=fraud/retrain,"                \
	"ckpt=signal:B:USR1@60,save-time=90s,exit=finish,quiet=yes;"         \
	"sig=B:TERM@300;id=0123456789abcdef;size=4/0/8000;departed;limited;" \
	"changed=5f0e1d2c3b4a;next=2;helper=17"

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
	.submitted = { 4, 0, 8000 },
	.departed = true,
	.limited = true,
	.changed_us = 0x5f0e1d2c3b4a,
	.next_gpus = 2,
	.helper_for = 17,
};
static const struct egs_stamp departed = { .departed = true };
static const struct egs_stamp helper = { .helper_for = 17 };
static const struct egs_stamp resized = { .submitted = { 0, 8, 0 },
					  .next_gpus = 4 };
static const struct egs_stamp empty = { .nonce = 0 };

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
	{ "ask ops@site before killing", NULL, "an operator's text" },
	{ TRAIN, &train, "a stamp alone" },
	{ PLAIN, &plain, "a stamp without a hint" },
	{ "ticket 4711 " TRAIN, &train, "text before the stamp" },
	{ TRAIN " ticket 4711", &train, "text after the stamp" },
	{ "ticket\n" TRAIN "\n4711", &train, "lines around the stamp" },
	{ TRAIN " " EVAL, &train, "two stamps, the first one" },
	{ "x" TRAIN, NULL, "a stamp with a letter before it" },
	{ TRAIN "x", NULL, "a stamp with a letter after it" },
	{ TRAIN ",x", NULL, "a stamp followed by a comma" },
	{ TRAIN "x " EVAL, &eval, "a malformed stamp, then a good one" },
	{ "\"" TRAIN "\"", NULL, "a stamp in quotes" },
	{ "egs:1;", NULL, "the mark alone" },
	{ "egs:1", NULL, "half a mark" },
	{ "egs:1;;id=0123456789abcdef", NULL, "an empty hint" },
	{ "egs:1;id=", NULL, "an id without digits" },
	{ "egs:1;id=0123456789abcde", NULL, "an id of 15 digits" },
	{ "egs:1;id=0123456789abcdef0", NULL, "an id of 17 digits" },
	{ "egs:1;id=0123456789ABCDEF", NULL, "an id in upper case" },
	{ "egs:1;id=0x23456789abcdef", NULL, "an id with a prefix" },
	{ "egs:1;id=-123456789abcdef", NULL, "an id with a sign" },
	{ "egs:1;phase=train", NULL, "a hint without an id" },
	{ "egs:1;id=0123456789abcdef;phase=train", NULL,
	  "an id before the hint" },
	{ "egs:1;phase=training;id=0123456789abcdef", NULL,
	  "an alias of a phase" },
	{ "egs:1;phase=lunch,x;id=0123456789abcdef", NULL,
	  "a hint without a key" },
	{ "egs:1;phase=$(id);id=0123456789abcdef", NULL,
	  "a phase that is not a name" },
	{ "egs:1;group=4;id=0123456789abcdef", NULL, "an unknown key" },
	{ FULL, &full, "a stamp with every key" },
	{ SITE, &site, "a phase of the site" },
	{ "egs:1;sig=USR1;id=00000000000000ff", &signalled, "a signal alone" },
	{ "egs:1;sig=SIGUSR1;id=00000000000000ff", NULL,
	  "a signal by its long name" },
	{ "egs:1;sig=10;id=00000000000000ff", NULL, "a signal by its number" },
	{ "egs:1;sig=;id=00000000000000ff", NULL, "a signal without a name" },
	{ "egs:1;sig=USR1@;id=00000000000000ff", NULL,
	  "a signal with half a time" },
	{ "egs:1;sig=USR1;phase=train;id=0123456789abcdef", NULL,
	  "a signal before the hint" },
	{ "egs:1;sig=USR1;sig=USR1;id=00000000000000ff", NULL,
	  "a signal twice" },
	{ "egs:1;tier=prod,phase=train;id=0123456789abcdef", NULL,
	  "hint keys in another order" },
	{ "egs:1;phase=train;phase=train;id=0123456789abcdef", NULL,
	  "a hint twice" },
	{ "egs:2;phase=train;id=0123456789abcdef", NULL,
	  "another version of the layout" },
	{ "EGS:1;phase=train;id=0123456789abcdef", NULL, "an upper case mark" },
	{ "ticket egs:1;departed", &departed, "departed without an id" },
	{ "egs:1;helper=17", &helper, "a helper job without an id" },
	{ "egs:1;size=0/8/0;next=4", &resized, "a size without an id" },
	{ "egs:1;next=4;size=0/8/0", NULL, "a size after the next one" },
	{ "egs:1;size=8", NULL, "a size of one number" },
	{ "egs:1;size=0/0/0", NULL, "an empty size" },
	{ "egs:1;next=0", NULL, "no next GPUs" },
	{ "egs:1;next=04", NULL, "a number with a leading zero" },
	{ "egs:1;helper=4294967296", NULL, "a job id of 33 bits" },
	{ "egs:1;helper=", NULL, "a helper job for no job" },
	{ "egs:1;departed=1", NULL, "departed with a value" },
	{ "egs:1;departed;id=00000000000000ff", NULL, "departed before an id" },
	{ "egs:1;resize;take=17", NULL, "a resize command" },
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
	{ NULL, &train, TRAIN, "no comment" },
	{ "", &train, TRAIN, "an empty comment" },
	{ "", &plain, PLAIN, "an empty comment, without a hint" },
	{ "", &full, FULL, "an empty comment, with every key" },
	{ "ticket 4711", &train, "ticket 4711 " TRAIN, "a text" },
	{ "ticket ", &train, "ticket " TRAIN,
	  "a text that ends in white space" },
	{ TRAIN, &eval, EVAL, "another stamp" },
	{ "a  " TRAIN "\tb", &eval, "a  " EVAL "\tb", "a stamp between words" },
	{ "a " TRAIN " b " TRAIN " c", &eval, "a " EVAL " b c",
	  "a comment with two stamps" },
	{ TRAIN " " EVAL " " PLAIN, &eval, EVAL, "a comment of three stamps" },
	{ "egs:1;forged a", &eval, EVAL " a", "a comment with a forged stamp" },
	{ "xegs:1;a egs:2;b", &eval, "xegs:1;a egs:2;b " EVAL,
	  "words that only look marked" },
};

static void test_put(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(puts_); i++) {
		char *once = egs_stamp_insert(puts_[i].before, puts_[i].stamp);
		char *twice = egs_stamp_insert(once, puts_[i].stamp);
		struct egs_stamp got = none;

		is_str(once, puts_[i].after, "a stamp is inserted into %s",
		       puts_[i].what);
		is_str(twice, once, "inserting twice into %s changes nothing",
		       puts_[i].what);
		ok(egs_stamp_find(once, &got) == 0 &&
			   same(&got, puts_[i].stamp),
		   "a stamp inserted into %s is found", puts_[i].what);
		free(once);
		free(twice);
	}
}

/* An empty stamp removes the marked words. */
static const struct {
	const char *before, *after, *what;
} removals[] = {
	{ NULL, "", "no comment" },
	{ "a b", "a b", "a text without a stamp" },
	{ "egs:1;departed", "", "a stamp alone" },
	{ "a egs:1;departed", "a", "a stamp at the end" },
	{ "egs:1;departed b", "b", "a stamp at the beginning" },
	{ "a egs:1;departed b", "a b", "a stamp in the middle" },
	{ "a " TRAIN " b " EVAL, "a b", "two stamps" },
};

static void test_remove(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(removals); i++) {
		char *after = egs_stamp_insert(removals[i].before, &empty);

		is_str(after, removals[i].after, "an empty stamp removes %s",
		       removals[i].what);
		free(after);
	}
}

static const struct {
	const char *text, *what;
	struct egs_resize_command command; /* all zero: refused */
} commands[] = {
	{ "egs:1;resize;gpus=2", "a release", { .gpus_per_node = 2 } },
	{ "egs:1;resize;gpus=2;keep-cores",
	  "a release without cores",
	  { .gpus_per_node = 2, .keep_cores = true } },
	{ "egs:1;resize;gpus=2;keep-cores;open=n1:c,n2:1",
	  "a release with open GPUs",
	  { 2, 0, true, "n1:c,n2:1" } },
	{ "egs:1;resize;take=17", "a transfer", { .helper_job_id = 17 } },
	{ "egs:1;resize;", "a command without a key", { 0 } },
	{ "egs:1;resize;gpus=", "a release of no number", { 0 } },
	{ "egs:1;resize;gpus=-1", "a negative number", { 0 } },
	{ "egs:1;resize;gpus=2;take=17", "release and transfer", { 0 } },
	{ "egs:1;resize;take=17 a", "a transfer with text behind it", { 0 } },
	{ "egs:1;resize;take=17;x", "an unknown key", { 0 } },
	{ "a egs:1;resize;take=17", "text before the command", { 0 } },
	{ "egs:1;departed", "a stamp", { 0 } },
	{ NULL, "no comment", { 0 } },
};

static bool is_same_command(const struct egs_resize_command *a,
			    const struct egs_resize_command *b)
{
	return a->gpus_per_node == b->gpus_per_node &&
	       a->helper_job_id == b->helper_job_id &&
	       a->keep_cores == b->keep_cores &&
	       !strcmp(a->open_gpus, b->open_gpus);
}

static void test_commands(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		static const struct egs_resize_command none_sent;
		const struct egs_resize_command *want = &commands[i].command;
		struct egs_resize_command got = none_sent;
		bool valid = want->gpus_per_node || want->helper_job_id;

		is_int(egs_resize_command_parse(commands[i].text, &got),
		       valid ? 0 : -1, "resize command: %s is %s",
		       commands[i].what, valid ? "read" : "refused");
		ok(is_same_command(&got, want),
		   "resize command: %s has the right values", commands[i].what);
	}
}

static void test_format(void)
{
	char buf[EGS_STAMP_MAX + 1] = "";
	size_t size = sizeof(TRAIN);

	is_int(egs_stamp_format(&train, buf, size), (int)size - 1,
	       "a stamp fits into a buffer of its size");
	is_str(buf, TRAIN, "a stamp is written in full");
	is_int(egs_stamp_format(&train, buf, size - 1), -1,
	       "a buffer that is one byte short is refused");
	is_str(buf, "", "a buffer that is too short stays empty");
	is_int(egs_stamp_format(&train, buf, 0), -1,
	       "a buffer of no bytes is refused");
	is_int(egs_stamp_format(&empty, buf, sizeof(buf)), 0,
	       "an empty stamp has no bytes");
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
	is_str(comment, "ticket 4711 " TRAIN,
	       "a job stamped 1000 times has one stamp");
	is_int((int)longest, (int)sizeof("ticket 4711 " TRAIN) - 1,
	       "a comment is never longer than with one stamp");
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
		   "a stamp in 4 MiB of '%s' adds only its length", fills[i]);
		ok(after && egs_stamp_find(after, &got) == 0 &&
			   same(&got, &train),
		   "a stamp in 4 MiB of '%s' is found", fills[i]);
		free(after);
	}
}

int main(void)
{
	plan_none();
	test_find();
	test_put();
	test_remove();
	test_commands();
	test_format();
	test_growth();
	test_huge();
	return done_testing();
}
