/* hint_fuzz.c - 200,000 damaged hints and stamps, the same on every machine
 *
 * A text is either refused in one printable line, and nothing changes, or it is
 * accepted, and its canonical form parses to the same hint.  The sanitizers
 * find what these checks cannot.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/hint/hint.h"
#include "common/hint/stamp.h"
#include "t/lib/unit/tap.h"

enum { ROUNDS = 200000, LONGEST = 200 };

static const char *const seeds[] = {
	"phase=train",
	"phase=inference",
	"phase=eval,phase=prep",
	"tier=prod,phase=train,ckpt=signal:USR1@60",
	"workload=fraud/retrain,ckpt=cmd:/opt/save,save-time=00:01:30",
	"phase=Distill,exit=finish,quiet",
	"phase-gpus=train:4+infer:1,restart=phase,acks=all",
	"preload=./stage.sh,restart=phase,acks=all",
	"egs:1;tier=prod,ckpt=file;sig=B:USR1@60;id=0123456789abcdef",
	"egs:1;phase=train;id=0123456789abcdef",
	"ticket 4711 egs:1;id=00000000000000ff",
	"a egs:1;phase=eval;id=fedcba9876543210 b egs:1;x",
};

static const char *const bits[] = {
	"phase", "=",	     ",",
	";",	 "egs:1;",   "id=",
	"train", "retrain",  " ",
	"\n",	 "\033",     "\xe2\x80\xae",
	"\xc3",	 "\xd7\xa9", "0123456789abcdef",
	"%s%n",	 "$(id)",    "../",
	"tier",	 "ckpt",     "signal:",
	"B:",	 "@",	     "sig=",
	"/",	 "quiet",    "save-time=5m",
	"+",	 ":4",	     "phase-gpus=",
};

static struct {
	uint64_t state;
	int hints, stamps; /* how many were accepted */
	int bad;	   /* how many broke a rule */
} fuzz = { .state = 0x9e3779b97f4a7c15 };

static size_t below(size_t limit)
{
	fuzz.state ^= fuzz.state << 13;
	fuzz.state ^= fuzz.state >> 7;
	fuzz.state ^= fuzz.state << 17;
	return (size_t)(fuzz.state >> 16) % limit;
}

static void rule(bool kept, const char *text, const char *what)
{
	if (kept)
		return;
	if (!fuzz.bad++)
		note("%s: '%s'", what, text);
}

/* Put 'bit' in the place of 'cut' bytes of 'text' at 'at'. */
static void splice(char *text, size_t at, size_t cut, const char *bit)
{
	size_t len = strlen(text);
	size_t add = strlen(bit);

	if (len - cut + add > LONGEST)
		return;
	memmove(text + at + add, text + at + cut, len - at - cut + 1);
	memcpy(text + at, bit, add);
}

static void spoil(char *text)
{
	size_t len = strlen(text);
	size_t at = below(len + 1);
	char byte[2] = { (char)(1 + below(255)), '\0' };

	switch (below(4)) {
	case 0:
		splice(text, at, 0, bits[below(ARRAY_SIZE(bits))]);
		break;
	case 1:
		splice(text, at, below(len - at + 1), "");
		break;
	case 2:
		splice(text, at, at < len, byte);
		break;
	default:
		splice(text, at, at < len, bits[below(ARRAY_SIZE(bits))]);
		break;
	}
}

static bool printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == '\177')
			return false;
	return true;
}

static void try_hint(const char *text)
{
	static const char *const distill = "distill";
	const struct egs_hint_site site = { &distill, 1, false };
	struct egs_hint hint = { .phase = "" }, again = { .phase = "" };
	char out[EGS_HINT_MAX + 1];
	struct egs_err err = { "" };

	if (egs_hint_parse(&hint, text, &site, &err) < 0) {
		rule(egs_hint_is_empty(&hint), text, "refused, but changed");
		rule(*err.msg && printable(err.msg), text, "bad sentence");
		rule(strlen(err.msg) < sizeof(err.msg) - 1, text, "cut short");
		return;
	}
	fuzz.hints++;
	rule(egs_hint_format(&hint, out, sizeof(out)) >= 0 && printable(out),
	     text, "no canonical text");
	rule(egs_hint_parse(&again, out, &site, NULL) == 0 &&
		     !memcmp(&again, &hint, sizeof(hint)),
	     text, "reads back differently");
}

static void try_stamp(const char *text)
{
	struct egs_stamp stamp = { .nonce = 42 }, again = { .nonce = 7 };
	char word[EGS_STAMP_MAX + 1];
	char *after;

	if (egs_stamp_find(text, &stamp) == 0) {
		fuzz.stamps++;
		rule(egs_stamp_format(&stamp, word, sizeof(word)) > 0 &&
			     strstr(text, word),
		     text, "not what was written there");
	}
	after = egs_stamp_insert(text, &stamp);
	rule(after && strlen(after) <= strlen(text) + EGS_STAMP_MAX + 1, text,
	     "grew too much");
	rule(egs_stamp_find(after, &again) == 0 && again.nonce == stamp.nonce &&
		     !memcmp(&again.hint, &stamp.hint, sizeof(stamp.hint)),
	     text, "lost when put");
	free(after);
}

int main(void)
{
	plan_none();
	for (int i = 0; i < ROUNDS; i++) {
		char text[LONGEST + 1];

		snprintf(text, sizeof(text), "%s",
			 seeds[below(ARRAY_SIZE(seeds))]);
		for (size_t n = below(6); n > 0; n--)
			spoil(text);
		try_hint(text);
		try_stamp(text);
	}
	is_int(fuzz.bad, 0, "%d damaged texts break no rule", ROUNDS);
	ok(fuzz.hints > ROUNDS / 50, "%d damaged texts are hints", fuzz.hints);
	ok(fuzz.stamps > ROUNDS / 50, "%d damaged texts have a stamp",
	   fuzz.stamps);
	return done_testing();
}
