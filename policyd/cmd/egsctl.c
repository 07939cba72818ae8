/* egsctl.c - the command of operators
 *
 * To add a verb: a function here or in egsctl_VERB.c, a row in verbs[], a line
 * in usage[], a case in t/0600-egsctl-check.t, a paragraph in egsctl(1).
 */
#include <stdio.h>
#include <string.h>

#include "policyd/cmd/egsctl.h"
#include "policyd/cmd/options.h"
#include "policyd/core/array.h"
#include "policyd/wire/suggest.h"

static const char usage[] = "check [FILE]\n"
			    "show config [-nP|--json] [FILE]\n"
			    "show tiers [-nP|--json] [FILE]\n";

/* A verb or what follows it: a name and what it does with the rest. */
struct word {
	const char *name;
	int (*run)(char **operands, const struct egs_listing_style *style);
};

static int complain(const struct egs_err *err)
{
	fprintf(stderr, "egsctl: %s\n", err->msg);
	return EGSCTL_FAILED;
}

static void print_problems(const struct egs_conf_problems *problems)
{
	for (size_t i = 0; i < problems->kept; i++)
		fprintf(stderr, "%s\n", problems->list[i].err.msg);
	if (problems->count > problems->kept)
		fprintf(stderr, "and %zu more\n",
			problems->count - problems->kept);
}

/* The configuration that the last operand names; NULL when it was refused,
 * and that has been said.
 */
static struct egs_conf *load(char **operands, const char **path)
{
	static struct egs_conf_problems problems;
	struct egs_conf *conf = NULL;
	struct egs_err err;

	*path = operands[0] ? operands[0] : EGS_SYSCONFDIR "/egs.conf";
	if (operands[0] && operands[1]) {
		egs_errf(&err, "'%s' is one operand too many",
			 egs_show(operands[1]).text);
		complain(&err);
	} else if (egs_conf_load(&conf, *path, &problems) < 0) {
		print_problems(&problems);
	}
	return conf;
}

static int check(char **operands, const struct egs_listing_style *style)
{
	const char *path;
	struct egs_conf *conf = load(operands, &path);
	const struct egs_policy_conf *policy;
	struct egs_err words;

	(void)style;
	if (!conf)
		return EGSCTL_FAILED;
	policy = egs_conf_policy(conf);
	egs_errf(&words,
		 "%s is fine: tiers %d, teams %d, phases %d, workloads %d, "
		 "GPU types %d",
		 path, policy->ntiers, policy->nteams, policy->nphases,
		 policy->nworkloads, policy->ntypes);
	printf("%s\n", words.msg);
	egs_conf_free(conf);
	return EGSCTL_DONE;
}

static int show_with(char **operands, const struct egs_listing_style *style,
		     int (*print)(const struct egs_conf *,
				  const struct egs_listing_style *))
{
	const char *path;
	struct egs_conf *conf = load(operands, &path);
	struct egs_err err;
	int rc;

	if (!conf)
		return EGSCTL_FAILED;
	rc = print(conf, style);
	egs_conf_free(conf);
	if (rc == 0)
		return EGSCTL_DONE;
	egs_errf(&err, "the listing could not be written");
	return complain(&err);
}

static int show_config(char **operands, const struct egs_listing_style *style)
{
	return show_with(operands, style, egsctl_show_config);
}

static int show_tiers(char **operands, const struct egs_listing_style *style)
{
	return show_with(operands, style, egsctl_show_tiers);
}

/* Run the one of 'words' that is the first operand. */
static int run_word(const struct word *words, size_t count, const char *what,
		    char **operands, const struct egs_listing_style *style)
{
	const char *names[8];
	struct egs_err why;
	struct egs_err err;

	for (size_t i = 0; i < count; i++) {
		if (operands[0] && strcmp(operands[0], words[i].name) == 0)
			return words[i].run(operands + 1, style);
		names[i] = words[i].name;
	}
	if (operands[0]) {
		egs_not_among(operands[0], what, names, count, &why);
		egs_errf(&err, "'%s' %s", egs_show(operands[0]).text, why.msg);
	} else {
		egs_errf(&err, "a %s is missing; see egsctl --help", what);
	}
	return complain(&err);
}

static int show(char **operands, const struct egs_listing_style *style)
{
	static const struct word subjects[] = {
		{ "config", show_config },
		{ "tiers", show_tiers },
	};

	return run_word(subjects, ARRAY_SIZE(subjects), "subject", operands,
			style);
}

int main(int argc, char **argv)
{
	static const struct word verbs[] = {
		{ "check", check },
		{ "show", show },
	};
	struct egs_listing_style style = { .json = false };
	const struct egs_option rows[] = {
		{ 'n', "noheader", &style.no_header, NULL, NULL,
		  "print no header" },
		{ 'P', "parsable", &style.parsable, NULL, NULL,
		  "print | between columns" },
		{ 0, "json", &style.json, NULL, NULL, "print JSON" },
	};
	const struct egs_options options = { "egsctl", usage, rows,
					     ARRAY_SIZE(rows) };
	struct egs_err err = { "" };

	switch (egs_options_read(&options, &argc, argv, &err)) {
	case EGS_OPTIONS_BAD:
		return complain(&err);
	case EGS_OPTIONS_DONE:
		return EGSCTL_DONE;
	default:
		return run_word(verbs, ARRAY_SIZE(verbs), "verb", argv, &style);
	}
}
