/* remedies.c - Do= of a rule: what is done about a GPU
 *
 * To add a remedy: a bit in policy_conf.h, a row here, its work in
 * policyd/requests/remediate.c and a paragraph in egs.conf(5).
 */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "common/base/array.h"
#include "common/base/suggest.h"
#include "common/conf/internal.h"
#include "common/conf/remedies.h"
#include "common/conf/values.h"

enum { CAP_MIN_PCT = 10, CAP_MAX_PCT = 99 };

/* "run=/opt/site/reset-gpu" */
static int read_run(const char *value, struct egs_remedies *to,
		    struct egs_err *why)
{
	size_t len = strlen(value);

	if (*value != '/' || len >= sizeof(to->run))
		return egs_errf(why,
				"is not a path that begins with / and is "
				"shorter than %zu bytes",
				sizeof(to->run));
	memcpy(to->run, value, len + 1);
	return 0;
}

static void write_run(const struct egs_remedies *from, FILE *out)
{
	fprintf(out, "=%s", from->run);
}

/* "cap=80%" */
static int read_cap(const char *value, struct egs_remedies *to,
		    struct egs_err *why)
{
	uint32_t pct = 0;

	if (egs_conf_read_percent(value, &pct, NULL) < 0 || pct < CAP_MIN_PCT ||
	    pct > CAP_MAX_PCT)
		return egs_errf(why, "is not from cap=%d%% to cap=%d%%",
				CAP_MIN_PCT, CAP_MAX_PCT);
	to->cap_pct = pct;
	return 0;
}

static void write_cap(const struct egs_remedies *from, FILE *out)
{
	fprintf(out, "=%" PRIu32 "%%", from->cap_pct);
}

static const struct {
	enum egs_remedy remedy;
	const char *word;
	/* What follows the word, NULL: nothing.  'why' is a predicate. */
	const char *value;
	int (*read)(const char *value, struct egs_remedies *to,
		    struct egs_err *why);
	void (*write)(const struct egs_remedies *from, FILE *out);
} words[] = {
	{ EGS_REMEDY_NOTE, "note", NULL, NULL, NULL },
	{ EGS_REMEDY_WARN, "warn", NULL, NULL, NULL },
	{ EGS_REMEDY_AVOID, "avoid", NULL, NULL, NULL },
	{ EGS_REMEDY_CAP, "cap", "=80%", read_cap, write_cap },
	{ EGS_REMEDY_MOVE, "move", NULL, NULL, NULL },
	{ EGS_REMEDY_FENCE, "fence", NULL, NULL, NULL },
	{ EGS_REMEDY_DRAIN, "drain", NULL, NULL, NULL },
	{ EGS_REMEDY_RUN, "run", "=PROGRAM", read_run, write_run },
};

const char *egs_remedies_name(enum egs_remedy remedy)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i].remedy == remedy)
			return words[i].word;
	return "?";
}

/* The row of the word that begins 'entry', or the number of rows. */
static size_t find_row(const char *entry)
{
	size_t len = strcspn(entry, "="), i = 0;

	while (i < ARRAY_SIZE(words) &&
	       (strlen(words[i].word) != len ||
		strncasecmp(words[i].word, entry, len) != 0))
		i++;
	return i;
}

enum egs_remedy egs_remedies_find(const char *name)
{
	size_t i = find_row(name);

	return i < ARRAY_SIZE(words) ? words[i].remedy : EGS_REMEDY_NONE;
}

static int refuse_word(const char *entry, struct egs_err *err)
{
	const char *names[ARRAY_SIZE(words)];
	struct egs_err why;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		names[i] = words[i].word;
	egs_err_unknown_name(entry, "value", names, ARRAY_SIZE(names), &why);
	return egs_conf_refuse_entry(entry, &why, err);
}

static int read_value(size_t row, const char *value, struct egs_remedies *to,
		      struct egs_err *why)
{
	if (value && !words[row].value)
		return egs_errf(why, "has a value, but %s takes none",
				words[row].word);
	if (!words[row].value)
		return 0;
	if (!value)
		return egs_errf(why, "needs a value: %s%s", words[row].word,
				words[row].value);
	return words[row].read(value, to, why);
}

static int add_remedy(void *arg, const char *entry, struct egs_err *err)
{
	struct egs_remedies *to = arg;
	const char *equals = strchr(entry, '=');
	size_t row = find_row(entry);
	struct egs_err why;

	if (row == ARRAY_SIZE(words))
		return refuse_word(entry, err);
	if (to->set & words[row].remedy)
		return egs_errf(err, "has '%s' twice", words[row].word);
	if (read_value(row, equals ? equals + 1 : NULL, to, &why) < 0)
		return egs_conf_refuse_entry(entry, &why, err);
	to->set |= words[row].remedy;
	return 0;
}

int egs_remedies_read(const char *text, struct egs_remedies *out,
		      struct egs_err *err)
{
	struct egs_remedies new = { .set = 0 };

	if (egs_conf_for_each_entry(text, add_remedy, &new, err) < 0)
		return -1;
	*out = new;
	return 0;
}

void egs_remedies_write(const struct egs_remedies *remedies, FILE *out)
{
	const char *comma = "";

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (!(remedies->set & words[i].remedy))
			continue;
		fprintf(out, "%s%s", comma, words[i].word);
		if (words[i].value)
			words[i].write(remedies, out);
		comma = ",";
	}
}
