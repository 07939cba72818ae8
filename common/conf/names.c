/* names.c - names in egs.conf: lists of them, and what they refer to */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/array.h"
#include "common/base/suggest.h"
#include "common/conf/names.h"
#include "common/conf/phase_names.h"
#include "common/conf/values.h"

/* Most names a refusal chooses from: every table is smaller but Team=. */
#define NAMES_MAX EGS_TEAMS_MAX

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

int egs_conf_read_name(const struct egs_conf_record *record, const char *text,
		       char name[EGS_NAME_SIZE], struct egs_err *err)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	const char *phase = NULL;

	if (strlen(text) >= EGS_NAME_SIZE)
		return egs_errf(err, "is longer than %d bytes",
				EGS_NAME_SIZE - 1);
	if (!*text || text[strspn(text, good)])
		return egs_errf(err, "is not a name; letters, digits, '_', '.' "
				     "and '-' make one");
	if (is_reserved(text))
		return egs_errf(err, "is not a name; the word means something "
				     "else");
	if (record == &egs_conf_records[EGS_CONF_PHASE_RECORD])
		phase = egs_phase_names_find(text);
	if (phase)
		text = phase;
	snprintf(name, EGS_NAME_SIZE, "%s", text);
	if (record->lowercase)
		fold_case(name);
	return 0;
}

static int refuse_name(const struct egs_policy_conf *conf,
		       const struct egs_conf_record *record, const char *text,
		       const char *part, struct egs_err *err)
{
	const char *names[NAMES_MAX];
	int count = egs_conf_count_rows(conf, record);
	struct egs_err why;
	char what[16];

	for (int i = 0; i < count; i++)
		names[i] = egs_conf_get_row(conf, record, i);
	snprintf(what, sizeof(what), "%s", record->name);
	fold_case(what);
	egs_err_unknown_name(part ? part : text, what, names, (size_t)count,
			     &why);
	if (part)
		return egs_errf(err, "has '%s', which %s",
				egs_printable(part).text, why.msg);
	return egs_errf(err, "%s", why.msg);
}

int egs_conf_read_ref(const struct egs_policy_conf *conf,
		      const struct egs_conf_record *record, const char *text,
		      const char *part, int *row, struct egs_err *err)
{
	char name[EGS_NAME_SIZE];
	int found;

	if (egs_conf_read_name(record, part ? part : text, name, NULL) < 0)
		return refuse_name(conf, record, text, part, err);
	found = record->find_row(conf, name);
	if (found < 0)
		return refuse_name(conf, record, text, part, err);
	*row = found;
	return 0;
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
		return egs_errf(err, "is too much: out of memory");
	while (rc == 0 && (entry = strsep(&next, ","))) {
		if (!*entry)
			rc = egs_errf(err, "has an empty entry");
		else if (++count > EGS_CONF_ENTRIES_MAX)
			rc = egs_errf(err, "has more than %d entries, the most",
				      EGS_CONF_ENTRIES_MAX);
		else
			rc = call(arg, entry, err);
	}
	free(copy);
	return rc;
}

/* A list being looked at. */
struct name_list {
	const char *text;
	bool globs;
};

static bool is_repeated(const char *list, const char *entry)
{
	size_t len = strlen(entry);
	int count = 0;

	while (*list && count < 2) {
		size_t n = strcspn(list, ",");

		count += n == len && strncmp(list, entry, n) == 0;
		list += n + (list[n] == ',');
	}
	return count == 2;
}

/* Is this a name to Slurm?  It knows few limits; these keep out what would be
 * a slip, and what could not be shown as it is.
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

static int add_tier(void *arg, const char *entry, struct egs_err *err)
{
	struct egs_policy_conf *conf = arg;
	char name[EGS_NAME_SIZE];
	struct egs_err why;

	if (egs_conf_read_name(&egs_conf_records[EGS_CONF_TIER_RECORD], entry,
			       name, &why) < 0)
		return egs_errf(err, "has '%s', which %s",
				egs_printable(entry).text, why.msg);
	if (egs_conf_find_tier(conf, name) >= 0)
		return egs_errf(err, "has '%s' twice", name);
	if (!egs_conf_add_tier(conf, name))
		return egs_errf(err, "has more than %d tiers, the most",
				EGS_TIERS_MAX);
	return 0;
}

int egs_conf_read_tier_order(struct egs_policy_conf *conf, const char *text,
			     struct egs_err *err)
{
	return egs_conf_for_each_entry(text, add_tier, conf, err);
}

/* Tiers being collected. */
struct tier_set {
	const struct egs_policy_conf *conf;
	const char *text;
	uint32_t bits;
};

static int add_tier_bit(void *arg, const char *entry, struct egs_err *err)
{
	struct tier_set *tiers = arg;
	int row = 0;

	if (egs_conf_read_ref(tiers->conf,
			      &egs_conf_records[EGS_CONF_TIER_RECORD],
			      tiers->text, entry, &row, err) < 0)
		return -1;
	tiers->bits |= 1u << row;
	return 0;
}

int egs_conf_read_tiers(const struct egs_policy_conf *conf, const char *text,
			uint32_t *out, struct egs_err *err)
{
	struct tier_set tiers = { conf, text, 0 };

	if (egs_conf_for_each_entry(text, add_tier_bit, &tiers, err) < 0)
		return -1;
	*out = tiers.bits;
	return 0;
}

void egs_conf_write_tiers(const struct egs_policy_conf *conf, uint32_t tiers,
			  FILE *out)
{
	const char *comma = "";

	for (int i = 0; i < conf->ntiers; i++) {
		if (!(tiers & 1u << i))
			continue;
		fprintf(out, "%s%s", comma, conf->tier[i].name);
		comma = ",";
	}
}
