/* kinds_text.c - kinds of values that are words: choices, names, lists */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/suggest.h"
#include "common/conf/kinds_internal.h"
#include "common/conf/names.h"
#include "common/conf/values_gpus.h"

#define CHOICES_MAX 8

static const struct egs_conf_choice *
find_choice(const struct egs_conf_choice *words, const char *text)
{
	for (; words->word; words++)
		if (strcasecmp(words->word, text) == 0)
			return words;
	return NULL;
}

static int refuse_choice(const struct egs_conf_choice *words, const char *text,
			 struct egs_err *err)
{
	const char *names[CHOICES_MAX];
	size_t count = 0;

	while (count < CHOICES_MAX && words[count].word) {
		names[count] = words[count].word;
		count++;
	}
	return egs_err_unknown_name(text, "value", names, count, err);
}

static int read_choice(const struct egs_conf_target *to, const char *text,
		       struct egs_err *err)
{
	const struct egs_conf_choice *word =
		find_choice(to->key->choices, text);

	if (!word)
		return refuse_choice(to->key->choices, text, err);
	memcpy(to->field, &word->value, sizeof(word->value));
	return 0;
}

static void write_choice(const struct egs_conf_source *from, FILE *out)
{
	const struct egs_conf_choice *word = from->key->choices;
	int value;

	memcpy(&value, from->field, sizeof(value));
	while (word->word && word->value != value)
		word++;
	fprintf(out, "%s", word->word ? word->word : "?");
}

static const struct egs_conf_choice yes_no[] = {
	{ "yes", true },
	{ "no", false },
	{ 0 },
};

static int read_yesno(const struct egs_conf_target *to, const char *text,
		      struct egs_err *err)
{
	const struct egs_conf_choice *word = find_choice(yes_no, text);

	if (!word)
		return refuse_choice(yes_no, text, err);
	*(bool *)to->field = word->value;
	return 0;
}

static void write_yesno(const struct egs_conf_source *from, FILE *out)
{
	fprintf(out, "%s", *(const bool *)from->field ? "yes" : "no");
}

/* Keep a copy of 'text'; what the default says is kept as NULL. */
static int store_text(const struct egs_conf_target *to, const char *text,
		      struct egs_err *err)
{
	char **field = to->field;
	char *copy = NULL;

	if (!egs_conf_is_default(to->key, text) && !(copy = strdup(text)))
		return egs_errf(err, "is too much: out of memory");
	free(*field);
	*field = copy;
	return 0;
}

static void write_text(const struct egs_conf_source *from, FILE *out)
{
	const char *text = *(char *const *)from->field;

	fprintf(out, "%s", text ? text : from->key->def);
}

static int read_list(const struct egs_conf_target *to, const char *text,
		     struct egs_err *err)
{
	bool globs = to->key->kind == EGS_CONF_GLOBS;

	if (egs_conf_check_list(text, globs, err) < 0)
		return -1;
	return store_text(to, text, err);
}

static bool is_graphic(const char *text)
{
	while (isgraph((unsigned char)*text))
		text++;
	return !*text;
}

static int read_text(const struct egs_conf_target *to, const char *text,
		     struct egs_err *err)
{
	const struct egs_conf_choice *words = to->key->choices;

	if (words && !find_choice(words, text))
		return refuse_choice(words, text, err);
	if (!*text || !is_graphic(text))
		return egs_errf(err, "is not a word without blanks");
	return store_text(to, words ? find_choice(words, text)->word : text,
			  err);
}

static int read_path(const struct egs_conf_target *to, const char *text,
		     struct egs_err *err)
{
	if (*text != '/' || !is_graphic(text))
		return egs_errf(err, "is not a path that begins with / and has "
				     "no blanks");
	if (strlen(text) > to->key->max)
		return egs_errf(err, "is too long, longest is %u bytes",
				to->key->max);
	return store_text(to, text, err);
}

static int read_gpus(const struct egs_conf_target *to, const char *text,
		     struct egs_err *err)
{
	uint32_t *rows = to->field;

	if (!egs_conf_is_default(to->key, text))
		return egs_conf_read_gpus(to->conf, text, to->types_declared,
					  to->key->def_value, rows, err);
	for (int i = 0; i < EGS_TYPE_ROWS; i++)
		rows[i] = to->key->def_value;
	return 0;
}

static void write_gpus(const struct egs_conf_source *from, FILE *out)
{
	if (!egs_conf_write_gpus(from->conf, from->field, from->key->def_value,
				 out))
		fprintf(out, "%s", from->key->def);
}

static int read_order(const struct egs_conf_target *to, const char *text,
		      struct egs_err *err)
{
	if (egs_conf_is_default(to->key, text))
		return 0;
	return egs_conf_read_tier_order(to->conf, text, err);
}

static void write_order(const struct egs_conf_source *from, FILE *out)
{
	egs_conf_write_tiers(from->conf, UINT32_MAX, out);
	if (!from->conf->ntiers)
		fprintf(out, "%s", from->key->def);
}

static int read_tiers(const struct egs_conf_target *to, const char *text,
		      struct egs_err *err)
{
	if (!egs_conf_is_default(to->key, text))
		return egs_conf_read_tiers(to->conf, text, to->field, err);
	*(uint32_t *)to->field = UINT32_MAX;
	return 0;
}

static void write_tiers(const struct egs_conf_source *from, FILE *out)
{
	uint32_t tiers = *(const uint32_t *)from->field;

	if (tiers == UINT32_MAX)
		fprintf(out, "%s", from->key->def);
	else
		egs_conf_write_tiers(from->conf, tiers, out);
}

/* The record whose rows a kind refers to. */
static const struct egs_conf_record *
find_ref_record(const struct egs_conf_key *key)
{
	return &egs_conf_records[key->kind == EGS_CONF_TIER
					 ? EGS_CONF_TIER_RECORD
				 : key->kind == EGS_CONF_TEAM
					 ? EGS_CONF_TEAM_RECORD
					 : EGS_CONF_PHASE_RECORD];
}

static int read_ref(const struct egs_conf_target *to, const char *text,
		    struct egs_err *err)
{
	if (!egs_conf_is_default(to->key, text))
		return egs_conf_read_ref(to->conf, find_ref_record(to->key),
					 text, NULL, to->field, err);
	*(int *)to->field = -1;
	return 0;
}

static void write_ref(const struct egs_conf_source *from, FILE *out)
{
	int row = *(const int *)from->field;
	const char *def = from->key->def ? from->key->def : "none";

	fprintf(out, "%s",
		row < 0 ? def
			: (const char *)egs_conf_get_row(
				  from->conf, find_ref_record(from->key), row));
}

const struct egs_conf_ops egs_conf_text_ops[EGS_CONF_KINDS] = {
	[EGS_CONF_WORDS] = { read_choice, write_choice },
	[EGS_CONF_YESNO] = { read_yesno, write_yesno },
	[EGS_CONF_GPUS] = { read_gpus, write_gpus },
	[EGS_CONF_LIST] = { read_list, write_text },
	[EGS_CONF_GLOBS] = { read_list, write_text },
	[EGS_CONF_TEXT] = { read_text, write_text },
	[EGS_CONF_PATH] = { read_path, write_text },
	[EGS_CONF_ORDER] = { read_order, write_order },
	[EGS_CONF_TIERS] = { read_tiers, write_tiers },
	[EGS_CONF_TIER] = { read_ref, write_ref },
	[EGS_CONF_TEAM] = { read_ref, write_ref },
	[EGS_CONF_PHASE] = { read_ref, write_ref },
};
