/* hint.c - hint grammar: one table row per key, nothing else to touch
 *
 * To add a key: a field in struct egs_hint, a row in keys[] in the place of its
 * row in later[], a case in t/unit/hint.c, a paragraph in egs(7).
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "policyd/core/array.h"
#include "policyd/wire/conf_names.h"
#include "policyd/wire/conf_value.h"
#include "policyd/wire/hint.h"
#include "policyd/wire/suggest.h"

/* A word that is accepted and the one it stands for. */
struct word {
	const char *typed;
	const char *means;
};

struct key;

/* Write the canonical form of 'value' to 'out'.  Returns 0, or -1 with a
 * predicate in 'err' that follows "--key=value".
 */
typedef int read_fn(const struct key *k, const char *value,
		    const struct egs_hint_site *site, char *out,
		    struct egs_err *err);

struct key {
	const char *name;
	const char *shown; /* in a refusal */
	const char *kind;  /* what a value is, likewise */
	size_t offset;	   /* of its field in struct egs_hint */
	read_fn *read;
	const struct word *words; /* the canonical ones first, in order */
	size_t word_count;
	const char *alone; /* the value of the key without one, or NULL */
};

static read_fn read_words, read_phase, read_tier, read_workload, read_ckpt,
	read_duration;

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

static const struct word ways[] = {
	{ "auto", "auto" }, { "none", "none" },	    { "signal", "signal" },
	{ "file", "file" }, { "signal:SIG", NULL }, { "cmd:PATH", NULL },
	{ "no", "none" },
};

static const struct word exits[] = {
	{ "yield", "yield" },
	{ "finish", "finish" },
};

static const struct word yes[] = { { "yes", "yes" } };

static const struct key keys[] = {
	{ "phase", "--phase", "phase", AT(phase), read_phase, WORDS(phases),
	  NULL },
	{ "tier", "--tier", "tier", AT(tier), read_tier, NULL, 0, NULL },
	{ "workload", "--workload", "workload", AT(workload), read_workload,
	  NULL, 0, NULL },
	{ "ckpt", "--ckpt", "checkpoint", AT(ckpt), read_ckpt, WORDS(ways),
	  NULL },
	{ "save-time", "--save-time", "time", AT(save_time), read_duration,
	  NULL, 0, NULL },
	{ "exit", "--egs=exit", "word", AT(exit), read_words, WORDS(exits),
	  NULL },
	{ "quiet", "--egs=quiet", "word", AT(quiet), read_words, WORDS(yes),
	  "yes" },
};

static const char *const later[] = {
	"preload", "phase-gpus",    "restart",		"acks",
	"group",   "max-gpu-hours", "requeue-at-limit",
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

/* Append 'name' to the list "a, b" in 'buf'. */
static void add_name(char *buf, size_t size, const char *name)
{
	append(buf, size, *buf ? ", " : "");
	append(buf, size, name);
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
		add_name(list, sizeof(list), keys[i].name);
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

/* The canonical words of a key, which a refusal lists, and the site's. */
static void list_words(const struct key *k, const struct egs_hint_site *site,
		       char *list, size_t size)
{
	list[0] = '\0';
	for (size_t i = 0; i < k->word_count; i++)
		if (!k->words[i].means ||
		    !strcmp(k->words[i].typed, k->words[i].means))
			add_name(list, size, k->words[i].typed);
	for (size_t i = 0; site && i < site->nphases; i++)
		add_name(list, size, site->phases[i]);
}

/* 'value' is none of the words of 'k', nor of the site. */
static int refuse_word(const struct key *k, const char *value,
		       const struct egs_hint_site *site, struct egs_err *err)
{
	const char *names[ARRAY_SIZE(phases) + EGS_PHASES_MAX];
	char list[EGS_ERR_MAX];
	size_t count = 0;

	list_words(k, site, list, sizeof(list));
	for (size_t i = 0; i < k->word_count; i++)
		names[count++] = k->words[i].typed;
	for (size_t i = 0; site && i < site->nphases; i++)
		if (count < ARRAY_SIZE(names))
			names[count++] = site->phases[i];
	return egs_errf(err, "is not a %s%s (%ss: %s)", k->kind,
			meant(value, names, count).msg, k->kind, list);
}

/* The word that 'value' stands for, or NULL. */
static const char *find_word(const struct key *k, const char *value)
{
	for (size_t i = 0; i < k->word_count; i++)
		if (!strcasecmp(value, k->words[i].typed))
			return k->words[i].means;
	return NULL;
}

static int read_words(const struct key *k, const char *value,
		      const struct egs_hint_site *site, char *out,
		      struct egs_err *err)
{
	const char *means = find_word(k, value);

	(void)site;
	if (!means)
		return refuse_word(k, value, NULL, err);
	snprintf(out, EGS_NAME_MAX + 1, "%s", means);
	return 0;
}

static int read_name(enum egs_conf_record_id record, const char *value,
		     char *out, struct egs_err *err)
{
	return egs_conf_read_name(&egs_conf_records[record], value, out, err);
}

static int read_phase(const struct key *k, const char *value,
		      const struct egs_hint_site *site, char *out,
		      struct egs_err *err)
{
	struct egs_hint_site others = { 0 };
	const char *names[EGS_PHASES_MAX];

	if (read_words(k, value, NULL, out, NULL) == 0)
		return 0;
	if (site && site->any_phase)
		return read_name(EGS_CONF_PHASE_RECORD, value, out, err);
	others.phases = names;
	for (size_t i = 0; site && i < site->nphases; i++) {
		if (find_word(k, site->phases[i]))
			continue;
		if (!strcasecmp(value, site->phases[i])) {
			snprintf(out, EGS_NAME_MAX + 1, "%s", site->phases[i]);
			return 0;
		}
		if (others.nphases < ARRAY_SIZE(names))
			names[others.nphases++] = site->phases[i];
	}
	return refuse_word(k, value, &others, err);
}

static int read_tier(const struct key *k, const char *value,
		     const struct egs_hint_site *site, char *out,
		     struct egs_err *err)
{
	(void)k;
	(void)site;
	return read_name(EGS_CONF_TIER_RECORD, value, out, err);
}

/* NAME or NAME/STAGE, both as names in egs.conf are. */
static int read_workload(const struct key *k, const char *value,
			 const struct egs_hint_site *site, char *out,
			 struct egs_err *err)
{
	size_t len = strcspn(value, "/");
	char name[EGS_NAME_MAX + 1], part[EGS_NAME_MAX + 1];

	(void)k;
	(void)site;
	memcpy(name, value, len);
	name[len] = '\0';
	if (read_name(EGS_CONF_WORKLOAD_RECORD, name, part, err) < 0)
		return -1;
	if (value[len] &&
	    read_name(EGS_CONF_WORKLOAD_RECORD, value + len + 1, part, err) < 0)
		return -1;
	if (strchr(".-", name[0]) || strchr(".-", part[0]))
		return egs_errf(err, "starts a name with a dot or a dash");
	memcpy(out, value, strlen(value) + 1);
	return 0;
}

static int read_ckpt_signal(const char *text, char *out, struct egs_err *err)
{
	struct egs_signal signal;
	char canonical[EGS_SIGNAL_MAX + 1];

	if (egs_signal_read(text, &signal, err) < 0)
		return -1;
	if (!egs_signal_caught(&signal))
		return egs_errf(err, "is a signal that no job can catch");
	egs_signal_write(&signal, canonical, sizeof(canonical));
	snprintf(out, EGS_NAME_MAX + 1, "signal:%s", canonical);
	return 0;
}

static int read_ckpt_command(const char *path, char *out, struct egs_err *err)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789_./+@%=~-";

	if (!*path || path[strspn(path, good)])
		return egs_errf(err, "is not a path of letters, digits and "
				     "'_./+@%%=~-'");
	snprintf(out, EGS_NAME_MAX + 1, "cmd:%s", path);
	return 0;
}

static int read_ckpt(const struct key *k, const char *value,
		     const struct egs_hint_site *site, char *out,
		     struct egs_err *err)
{
	if (!strncasecmp(value, "signal:", 7))
		return read_ckpt_signal(value + 7, out, err);
	if (!strncasecmp(value, "cmd:", 4))
		return read_ckpt_command(value + 4, out, err);
	return read_words(k, value, site, out, err);
}

static int read_duration(const struct key *k, const char *value,
			 const struct egs_hint_site *site, char *out,
			 struct egs_err *err)
{
	uint32_t seconds;

	(void)k;
	(void)site;
	if (egs_conf_read_seconds(value, &seconds, err) < 0)
		return -1;
	if (!seconds || seconds > 86400)
		return egs_errf(err, "is not between 1s and 1d");
	egs_conf_write_seconds(seconds, out, EGS_NAME_MAX + 1);
	return 0;
}

static int refuse_empty(const struct key *k, const struct egs_hint_site *site,
			struct egs_err *err)
{
	char list[EGS_ERR_MAX];

	list_words(k, k->read == read_phase ? site : NULL, list, sizeof(list));
	if (!*list)
		return egs_errf(err, "%s is empty", k->shown);
	return egs_errf(err, "%s is empty (%ss: %s)", k->shown, k->kind, list);
}

/* 'value' is NULL for a key without one. */
static int set_key(struct egs_hint *hint, const struct key *k,
		   const char *value, const struct egs_hint_site *site,
		   struct egs_err *err)
{
	char out[EGS_NAME_MAX + 1];
	struct egs_err why;

	if (!value || !*value)
		value = k->alone;
	if (!value)
		return refuse_empty(k, site, err);
	if (strnlen(value, EGS_NAME_MAX + 1) > EGS_NAME_MAX)
		return egs_errf(err, "%s=%s is longer than %d bytes", k->shown,
				egs_show(value).text, EGS_NAME_MAX);
	if (k->read(k, value, site, out, &why) < 0)
		return egs_errf(err, "%s=%s %s", k->shown, egs_show(value).text,
				why.msg);
	snprintf(field(hint, k), EGS_NAME_MAX + 1, "%s", out);
	return 0;
}

int egs_hint_set(struct egs_hint *hint, const char *key, const char *value,
		 const struct egs_hint_site *site, struct egs_err *err)
{
	const struct key *k = find_key(key, err);

	return k ? set_key(hint, k, value, site, err) : -1;
}

/* Take "key=value" apart, in place, and set it.  'seen' has a bit per key. */
static int parse_pair(struct egs_hint *hint, char *pair, unsigned int *seen,
		      const struct egs_hint_site *site, struct egs_err *err)
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
	return set_key(hint, k, equals ? equals + 1 : NULL, site, err);
}

int egs_hint_parse(struct egs_hint *hint, const char *text,
		   const struct egs_hint_site *site, struct egs_err *err)
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
		if (parse_pair(&new, strsep(&next, ","), &seen, site, err) < 0)
			return -1;
	*hint = new;
	return 0;
}

int egs_hint_fill(struct egs_hint *hint, const struct egs_hint *below,
		  struct egs_err *differ)
{
	int count = 0;

	differ->msg[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		char *own = field(hint, &keys[i]);
		const char *other = field_of(below, &keys[i]);

		if (!*own) {
			memcpy(own, other, EGS_NAME_MAX + 1);
		} else if (*other && strcmp(own, other) != 0) {
			add_name(differ->msg, sizeof(differ->msg),
				 keys[i].name);
			count++;
		}
	}
	return count;
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

bool egs_hint_signal(const struct egs_hint *hint, struct egs_signal *signal)
{
	return !strncmp(hint->ckpt, "signal:", 7) &&
	       egs_signal_read(hint->ckpt + 7, signal, NULL) == 0;
}

bool egs_hint_saves(const struct egs_hint *hint, const struct egs_signal *own)
{
	if (!*hint->ckpt || !strcmp(hint->ckpt, "auto"))
		return own->number != 0;
	return strcmp(hint->ckpt, "none") != 0;
}
