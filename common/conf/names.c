/* names.c - names in egs.conf, lists of names, and the rows they refer to */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/array.h"
#include "common/base/list.h"
#include "common/base/suggest.h"
#include "common/conf/internal.h"
#include "common/conf/names.h"

/* Rows of the largest record that other records refer to, Team=. */
#define NAMES_MAX EGS_TEAMS_MAX

const struct egs_alias egs_phase_names[EGS_PHASE_NAMES] = {
	{ "prep", "prep" },	     { "train", "train" },
	{ "eval", "eval" },	     { "infer", "infer" },
	{ "retrain", "retrain" },    { "prepare", "prep" },
	{ "preparation", "prep" },   { "preprocess", "prep" },
	{ "preprocessing", "prep" }, { "training", "train" },
	{ "evaluate", "eval" },	     { "evaluation", "eval" },
	{ "inference", "infer" },    { "serve", "infer" },
	{ "serving", "infer" },	     { "retraining", "retrain" },
};

/* Words that a site may use for a phase of its own. */
static const struct egs_alias weak_phase_names[] = {
	{ "pretrain", "train" },  { "pretraining", "train" },
	{ "finetune", "train" },  { "finetuning", "train" },
	{ "fine-tune", "train" }, { "fine-tuning", "train" },
	{ "test", "eval" },	  { "testing", "eval" },
	{ "validate", "eval" },	  { "validation", "eval" },
	{ "predict", "infer" },	  { "prediction", "infer" },
};

static const char *find_alias(const struct egs_alias *list, size_t count,
			      const char *typed)
{
	for (size_t i = 0; i < count; i++)
		if (strcasecmp(typed, list[i].typed) == 0)
			return list[i].means;
	return NULL;
}

const char *egs_phase_weak_alias(const char *typed)
{
	return find_alias(weak_phase_names, ARRAY_SIZE(weak_phase_names),
			  typed);
}

static void fold_case(char *name)
{
	for (; *name; name++)
		*name = (char)tolower((unsigned char)*name);
}

static bool is_reserved(const char *name)
{
	static const char *const words[] = { "all",  "any",	  "default",
					     "none", "unmanaged", "quota" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasecmp(name, words[i]) == 0)
			return true;
	return false;
}

#define NAME_CHARACTERS              \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

/* Slurm calls a slice of a GPU 1g.10gb+me. */
static int check_characters(enum egs_conf_record_id record, const char *text,
			    struct egs_err *err)
{
	bool is_type = record == EGS_CONF_GPUTYPE_RECORD;
	const char *good = is_type ? NAME_CHARACTERS "+" : NAME_CHARACTERS;

	if (*text && !text[strspn(text, good)])
		return 0;
	return egs_errf(err,
			"is not a name; letters, digits, '_', '.'%s and '-' "
			"make one",
			is_type ? ", '+'" : "");
}

int egs_conf_read_name(enum egs_conf_record_id record, const char *text,
		       char name[EGS_NAME_SIZE], struct egs_err *err)
{
	const char *phase = NULL;

	if (strlen(text) >= EGS_NAME_SIZE)
		return egs_errf(err, "is longer than %d bytes",
				EGS_NAME_SIZE - 1);
	if (check_characters(record, text, err) < 0)
		return -1;
	if (is_reserved(text))
		return egs_errf(err, "is a reserved word and not a name");
	if (record == EGS_CONF_PHASE_RECORD)
		phase = find_alias(egs_phase_names, EGS_PHASE_NAMES, text);
	snprintf(name, EGS_NAME_SIZE, "%s", phase ? phase : text);
	if (egs_conf_records[record].lowercase)
		fold_case(name);
	return 0;
}

int egs_conf_find_typed_phase(const struct egs_policy_conf *conf,
			      const char *typed)
{
	const char *alias = egs_phase_weak_alias(typed);
	char name[EGS_NAME_SIZE];
	int row = -1;

	if (egs_conf_read_name(EGS_CONF_PHASE_RECORD, typed, name, NULL) == 0)
		row = egs_conf_find_phase(conf, name);
	return row < 0 && alias ? egs_conf_find_phase(conf, alias) : row;
}

static int refuse_name(const struct egs_policy_conf *conf,
		       const struct egs_conf_record *record, const char *typed,
		       struct egs_err *err)
{
	const char *names[NAMES_MAX];
	int count = egs_conf_count_rows(conf, record);
	char what[16];

	if (record->id == EGS_CONF_TIER_RECORD && !count)
		return egs_errf(err, EGS_CONF_NO_TIER_ORDER);
	for (int i = 0; i < count; i++)
		names[i] = egs_conf_get_row(conf, record, i);
	snprintf(what, sizeof(what), "%s", record->name);
	fold_case(what);
	return egs_err_unknown_name(typed, what, names, (size_t)count, err);
}

int egs_conf_read_ref(const struct egs_policy_conf *conf,
		      enum egs_conf_record_id id, const char *text, int *row,
		      struct egs_err *err)
{
	const struct egs_conf_record *record = &egs_conf_records[id];
	char name[EGS_NAME_SIZE];
	int found = -1;

	if (id == EGS_CONF_PHASE_RECORD)
		found = egs_conf_find_typed_phase(conf, text);
	else if (egs_conf_read_name(id, text, name, NULL) == 0)
		found = record->find_row(conf, name);
	if (found < 0)
		return refuse_name(conf, record, text, err);
	*row = found;
	return 0;
}

int egs_conf_refuse_entry(const char *entry, const struct egs_err *why,
			  struct egs_err *err)
{
	return egs_errf(err, "has '%s', which %s", egs_printable(entry).text,
			why->msg);
}

int egs_conf_for_each_entry(const char *text, egs_conf_entry_fn *call,
			    void *arg, struct egs_err *err)
{
	char *copy = strdup(text);
	char *next = copy;
	char *entry;
	int count = 0;
	int rc = 0;

	if (!copy)
		return egs_errf(err, "is not read: out of memory");
	while (rc == 0 && (entry = strsep(&next, ","))) {
		if (!*entry)
			rc = egs_errf(err, "has an empty entry");
		else if (++count > EGS_CONF_ENTRIES_MAX)
			rc = egs_errf(err, "has more than %d entries",
				      EGS_CONF_ENTRIES_MAX);
		else
			rc = call(arg, entry, err);
	}
	free(copy);
	return rc;
}

/* A list being checked. */
struct name_list {
	const char *text;
	bool globs;
};

static bool is_repeated(const char *list, const char *name)
{
	const size_t name_len = strlen(name);
	const char *element;
	size_t len;
	int count = 0;

	while (count < 2 && (element = egs_list_next(&list, &len)))
		count += len == name_len && memcmp(element, name, len) == 0;
	return count == 2;
}

/* Slurm accepts almost any name.  Refuse characters that are likely to be a
 * typing error, and those that cannot be shown as they are.
 */
static bool is_valid_entry(const char *entry, bool globs)
{
	size_t len = strlen(entry);

	if (globs && entry[len - 1] == '*')
		len--;
	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)entry[i]) ||
		    strchr("*\"'`;|=", entry[i]))
			return false;
	return true;
}

static int check_entry(void *arg, const char *entry, struct egs_err *err)
{
	const struct name_list *list = arg;

	if (!is_valid_entry(entry, list->globs))
		return egs_errf(err, "has '%s', which is not a name%s",
				egs_printable(entry).text,
				list->globs ? " or x*" : "");
	if (is_repeated(list->text, entry))
		return egs_errf(err, "has '%s' twice",
				egs_printable(entry).text);
	return 0;
}

int egs_conf_check_list(const char *text, bool globs, struct egs_err *err)
{
	struct name_list list = { text, globs };

	return egs_conf_for_each_entry(text, check_entry, &list, err);
}
