/* remedies.c - Do= of a rule: what is done about a GPU
 *
 * To add a remedy: a bit in policy_conf.h, a row here, its work in
 * policyd/requests/remediate.c and a paragraph in egs.conf(5).
 */
#include <strings.h>

#include "common/base/array.h"
#include "common/base/suggest.h"
#include "common/conf/internal.h"
#include "common/conf/remedies.h"

static const struct {
	enum egs_remedy remedy;
	const char *word;
} words[] = {
	{ EGS_REMEDY_NOTE, "note" },   { EGS_REMEDY_WARN, "warn" },
	{ EGS_REMEDY_AVOID, "avoid" }, { EGS_REMEDY_MOVE, "move" },
	{ EGS_REMEDY_FENCE, "fence" }, { EGS_REMEDY_DRAIN, "drain" },
};

const char *egs_remedies_name(enum egs_remedy remedy)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i].remedy == remedy)
			return words[i].word;
	return "?";
}

enum egs_remedy egs_remedies_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasecmp(words[i].word, name) == 0)
			return words[i].remedy;
	return EGS_REMEDY_NONE;
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

static int add_remedy(void *arg, const char *entry, struct egs_err *err)
{
	struct egs_remedies *to = arg;
	enum egs_remedy remedy = egs_remedies_find(entry);

	if (remedy == EGS_REMEDY_NONE)
		return refuse_word(entry, err);
	if (to->set & remedy)
		return egs_errf(err, "has '%s' twice",
				egs_remedies_name(remedy));
	to->set |= remedy;
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
		comma = ",";
	}
}
