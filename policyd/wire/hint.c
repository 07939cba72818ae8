/* hint.c - hint grammar: one table row per key, nothing else to touch
 *
 * To add a key: a field in struct egs_hint, a row in keys[] in the place of its
 * row in later[], a case in t/unit/hint.c, a paragraph in egs(7).
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "policyd/core/array.h"
#include "policyd/wire/hint.h"
#include "policyd/wire/suggest.h"

/* A word that is accepted and the one it stands for. */
struct word {
	const char *typed;
	const char *means;
};

struct key {
	const char *name;
	const char *kind;	  /* what a value is, in a refusal */
	size_t offset;		  /* of its field in struct egs_hint */
	const struct word *words; /* the canonical ones first, in order */
	size_t word_count;
};

#define AT(field) offsetof(struct egs_hint, field)
#define WORDS(w)  (w), ARRAY_SIZE(w)

static const struct word phases[] = {
	{ "prep", "prep" },	     { "train", "train" },
	{ "eval", "eval" },	     { "infer", "infer" },
	{ "retrain", "retrain" },    { "prepare", "prep" },
	{ "preparation", "prep" },   { "preprocess", "prep" },
	{ "preprocessing", "prep" }, { "training", "train" },
	{ "evaluate", "eval" },	     { "evaluation", "eval" },
	{ "inference", "infer" },    { "serve", "infer" },
	{ "serving", "infer" },	     { "retraining", "retrain" },
};

static const struct key keys[] = {
	{ "phase", "phase", AT(phase), WORDS(phases) },
};

static const char *const later[] = {
	"tier",
	"workload",
	"ckpt",
	"save-time",
	"preload",
	"phase-gpus",
	"exit",
	"restart",
	"acks",
	"group",
	"quiet",
	"max-gpu-hours",
	"requeue-at-limit",
};

static char *field(struct egs_hint *hint, const struct key *k)
{
	return (char *)hint + k->offset;
}

static const char *field_of(const struct egs_hint *hint, const struct key *k)
{
	return (const char *)hint + k->offset;
}

/* Append 'text' to the string in 'buf'; false if it does not fit. */
static bool append(char *buf, size_t size, const char *text)
{
	size_t used = strlen(buf);
	size_t len = strlen(text);

	if (len >= size - used)
		return false;
	memcpy(buf + used, text, len + 1);
	return true;
}

/* "; did you mean 'train'?", or nothing. */
static struct egs_err meant(const char *typed, const char *const *names,
			    size_t count)
{
	const char *name = egs_suggest(typed, names, count);
	struct egs_err part = { "" };

	if (name)
		egs_errf(&part, "; did you mean '%s'?", name);
	return part;
}

static int refuse_key(const char *key, struct egs_err *err)
{
	const char *names[ARRAY_SIZE(keys)];
	char list[EGS_ERR_MAX] = "";

	for (size_t i = 0; i < ARRAY_SIZE(later); i++)
		if (!strcmp(key, later[i]))
			return egs_errf(err, "%s is not in this version", key);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		names[i] = keys[i].name;
		append(list, sizeof(list), i ? ", " : "");
		append(list, sizeof(list), keys[i].name);
	}
	return egs_errf(err, "'%s' is not a key of a hint%s (keys: %s)",
			egs_show(key).text,
			meant(key, names, ARRAY_SIZE(names)).msg, list);
}

static const struct key *find_key(const char *name, struct egs_err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(name, keys[i].name))
			return &keys[i];
	refuse_key(name, err);
	return NULL;
}

/* The canonical words of a key, which a refusal lists. */
static void list_words(const struct key *k, char *list, size_t size)
{
	list[0] = '\0';
	for (size_t i = 0; i < k->word_count; i++) {
		if (strcmp(k->words[i].typed, k->words[i].means) != 0)
			break;
		append(list, size, i ? ", " : "");
		append(list, size, k->words[i].typed);
	}
}

static int refuse_value(const struct key *k, const char *value,
			struct egs_err *err)
{
	const char *names[ARRAY_SIZE(phases)];
	char list[EGS_ERR_MAX];
	size_t count = 0;

	list_words(k, list, sizeof(list));
	if (!*value)
		return egs_errf(err, "--%s is empty (%ss: %s)", k->name,
				k->kind, list);
	if (strnlen(value, EGS_NAME_MAX + 1) > EGS_NAME_MAX)
		return egs_errf(err,
				"--%s=%s is longer than %d bytes (%ss: %s)",
				k->name, egs_show(value).text, EGS_NAME_MAX,
				k->kind, list);
	for (; count < k->word_count && count < ARRAY_SIZE(names); count++)
		names[count] = k->words[count].typed;
	return egs_errf(err, "--%s=%s is not a %s%s (%ss: %s)", k->name,
			egs_show(value).text, k->kind,
			meant(value, names, count).msg, k->kind, list);
}

static int set_key(struct egs_hint *hint, const struct key *k,
		   const char *value, struct egs_err *err)
{
	for (size_t i = 0; i < k->word_count; i++) {
		if (strcasecmp(value, k->words[i].typed) != 0)
			continue;
		snprintf(field(hint, k), EGS_NAME_MAX + 1, "%s",
			 k->words[i].means);
		return 0;
	}
	return refuse_value(k, value, err);
}

int egs_hint_set(struct egs_hint *hint, const char *key, const char *value,
		 struct egs_err *err)
{
	const struct key *k = find_key(key, err);

	return k ? set_key(hint, k, value, err) : -1;
}

/* Take "key=value" apart, in place, and set it.  'seen' has a bit per key. */
static int parse_pair(struct egs_hint *hint, char *pair, unsigned int *seen,
		      struct egs_err *err)
{
	char *equals = strchr(pair, '=');
	const struct key *k;
	unsigned int bit;

	if (!*pair)
		return egs_errf(err, "empty key in a hint, "
				     "want key=value,key=value");
	if (equals)
		*equals = '\0';
	if (!(k = find_key(pair, err)))
		return -1;
	bit = 1U << (k - keys);
	if (*seen & bit)
		return egs_errf(err, "%s is given twice in a hint", k->name);
	*seen |= bit;
	return set_key(hint, k, equals ? equals + 1 : "", err);
}

int egs_hint_parse(struct egs_hint *hint, const char *text, struct egs_err *err)
{
	size_t len = strnlen(text, EGS_HINT_MAX + 1);
	struct egs_hint new = *hint;
	char copy[EGS_HINT_MAX + 1];
	char *next = copy;
	unsigned int seen = 0;

	if (len > EGS_HINT_MAX)
		return egs_errf(err, "a hint is longer than %d bytes: %s",
				EGS_HINT_MAX, egs_show(text).text);
	memcpy(copy, text, len + 1);
	while (len && next)
		if (parse_pair(&new, strsep(&next, ","), &seen, err) < 0)
			return -1;
	*hint = new;
	return 0;
}

int egs_hint_format(const struct egs_hint *hint, char *buf, size_t size)
{
	bool fits = size > 0;

	if (fits)
		buf[0] = '\0';
	for (size_t i = 0; fits && i < ARRAY_SIZE(keys); i++) {
		const char *value = field_of(hint, &keys[i]);

		if (!*value)
			continue;
		fits = append(buf, size, *buf ? "," : "") &&
		       append(buf, size, keys[i].name) &&
		       append(buf, size, "=") && append(buf, size, value);
	}
	if (fits)
		return (int)strlen(buf);
	if (size > 0)
		buf[0] = '\0';
	return -1;
}

bool egs_hint_empty(const struct egs_hint *hint)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (*field_of(hint, &keys[i]))
			return false;
	return true;
}
