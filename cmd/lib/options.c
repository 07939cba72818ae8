/* options.c - the options of a command, read by a table */
#include <string.h>

#include "cmd/lib/options.h"
#include "common/base/array.h"
#include "common/base/suggest.h"
#include "egs_config.h"

#define NAMES_MAX 32

/* Options that every command has, after its own. */
struct common_options {
	bool help;
	bool version;
	struct egs_option rows[2];
};

/* State of reading a command line. */
struct option_reader {
	const struct egs_options *options;
	const struct common_options *common;
	char **next_arg;
	struct egs_err *err;
};

static const struct egs_option *get_option(const struct option_reader *r,
					   size_t i)
{
	size_t own = r->options->count;

	return i < own ? &r->options->rows[i] : &r->common->rows[i - own];
}

static size_t count_options(const struct option_reader *r)
{
	return r->options->count + ARRAY_SIZE(r->common->rows);
}

static const struct egs_option *find_by_letter(const struct option_reader *r,
					       char letter)
{
	for (size_t i = 0; i < count_options(r); i++)
		if (get_option(r, i)->letter == letter)
			return get_option(r, i);
	egs_errf(r->err, "-%c is not an option; see %s --help", letter,
		 r->options->command);
	return NULL;
}

static const struct egs_option *find_by_name(const struct option_reader *r,
					     const char *name, size_t len)
{
	const char *names[NAMES_MAX];
	size_t count = 0;
	char typed[EGS_PRINTABLE_MAX];
	struct egs_err why;

	for (size_t i = 0; i < count_options(r); i++) {
		const char *known = get_option(r, i)->name;

		if (strlen(known) == len && strncmp(known, name, len) == 0)
			return get_option(r, i);
		if (count < NAMES_MAX)
			names[count++] = known;
	}
	snprintf(typed, sizeof(typed), "%.*s", (int)len, name);
	egs_err_unknown_name(typed, "option", names, count, &why);
	egs_errf(r->err, "--%s %s", typed, why.msg);
	return NULL;
}

/* --name, --name=VALUE or --name VALUE */
static int read_long(struct option_reader *r, const char *word)
{
	size_t len = strcspn(word, "=");
	const struct egs_option *o = find_by_name(r, word, len);

	if (!o)
		return -1;
	if (o->flag) {
		*o->flag = true;
		return word[len] ? egs_errf(r->err, "--%s takes no value",
					    o->name)
				 : 0;
	}
	*o->value = word[len] ? word + len + 1 : *r->next_arg;
	if (!*o->value)
		return egs_errf(r->err, "--%s takes a value: --%s=%s", o->name,
				o->name, o->argument);
	r->next_arg += !word[len];
	return 0;
}

/* -n, -nP, -pVALUE or -p VALUE */
static int read_short(struct option_reader *r, const char *word)
{
	for (; *word; word++) {
		const struct egs_option *o = find_by_letter(r, *word);

		if (!o)
			return -1;
		if (o->flag) {
			*o->flag = true;
			continue;
		}
		*o->value = word[1] ? word + 1 : *r->next_arg;
		if (!*o->value)
			return egs_errf(r->err, "-%c takes a value: -%c %s",
					o->letter, o->letter, o->argument);
		r->next_arg += !word[1];
		break;
	}
	return 0;
}

/* Read all words; words that are not options go to 'operands'. */
static int read_args(struct option_reader *r, char **operands, int *count)
{
	bool options_end = false;
	int rc = 0;

	*count = 0;
	while (rc == 0 && *r->next_arg) {
		char *word = *r->next_arg++;

		if (options_end || word[0] != '-' || !word[1])
			operands[(*count)++] = word;
		else if (strcmp(word, "--") == 0)
			options_end = true;
		else if (word[1] == '-')
			rc = read_long(r, word + 2);
		else
			rc = read_short(r, word + 1);
	}
	operands[*count] = NULL;
	return rc;
}

/* Print 'lines' with the command in front; 'first' is for the first line. */
static void print_usage(const char *command, const char *lines,
			const char *first)
{
	for (; *lines; first = "      ") {
		size_t len = strcspn(lines, "\n");

		printf("%s %s %.*s\n", first, command, (int)len, lines);
		lines += len + (lines[len] == '\n');
	}
}

static void print_option(const struct egs_option *o, const char *help)
{
	char names[64];

	snprintf(names, sizeof(names), "%s%c%s--%s%s%s", o->letter ? "-" : " ",
		 o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name,
		 o->argument ? "=" : "", o->argument ? o->argument : "");
	printf("  %-22s %s\n", names, help);
}

static void print_help(const struct option_reader *r)
{
	const struct egs_options *o = r->options;

	for (size_t i = 0; i < o->nverbs; i++)
		print_usage(o->command, o->verbs[i].usage,
			    i ? "      " : "usage:");
	printf("\n");
	for (size_t i = 0; i < count_options(r); i++)
		print_option(get_option(r, i), get_option(r, i)->help);
	if (o->nverbs)
		printf("\n%s VERB --help explains a verb.\n", o->command);
}

/* The text of a help "a, b: text" if 'verb' is a or b, else NULL. */
static const char *find_verb_text(const char *help, const char *verb)
{
	size_t len = strlen(verb), end = strcspn(help, ":");

	if (!help[end])
		return NULL;
	for (const char *at = help; at < help + end; at += strspn(at, ", ")) {
		size_t word = strcspn(at, ",:");

		if (word == len && strncmp(at, verb, len) == 0)
			return help + end + strspn(help + end, ": ");
		at += word;
	}
	return NULL;
}

static void print_verb_help(const struct option_reader *r,
			    const struct egs_verb_help *verb)
{
	print_usage(r->options->command, verb->usage, "usage:");
	printf("\n%s\n", verb->about);
	for (size_t i = 0; i < r->options->count; i++) {
		const struct egs_option *o = &r->options->rows[i];
		const char *text = find_verb_text(o->help, verb->name);

		if (text)
			print_option(o, text);
	}
	printf("\nexample:\n  %s\n", verb->example);
}

static const struct egs_verb_help *find_verb(const struct egs_options *options,
					     const char *name)
{
	for (size_t i = 0; name && i < options->nverbs; i++)
		if (options->verbs[i].name &&
		    strcmp(options->verbs[i].name, name) == 0)
			return &options->verbs[i];
	return NULL;
}

static enum egs_options_result print_common(const struct option_reader *r,
					    const char *operand)
{
	const struct egs_verb_help *verb = find_verb(r->options, operand);

	if (!r->common->help)
		printf("%s %s\n", r->options->command, PACKAGE_VERSION);
	else if (verb)
		print_verb_help(r, verb);
	else
		print_help(r);
	return EGS_OPTIONS_DONE;
}

enum egs_options_result egs_options_read(const struct egs_options *options,
					 int *argc, char **argv,
					 struct egs_err *err)
{
	struct common_options common = { .help = false };
	struct option_reader r = { .options = options,
				   .common = &common,
				   .next_arg = argv + (*argc > 0) };

	common.rows[0] = (struct egs_option){ 'h',  "help", &common.help,
					      NULL, NULL,   "print this help" };
	common.rows[1] =
		(struct egs_option){ 'V',  "version", &common.version,
				     NULL, NULL,      "print the version" };
	r.err = err;
	if (read_args(&r, argv, argc) < 0)
		return EGS_OPTIONS_BAD;
	return common.help || common.version ? print_common(&r, argv[0])
					     : EGS_OPTIONS_RUN;
}
