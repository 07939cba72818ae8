/* cmd_options.c - options of commands, in every spelling */
#include "cmd/lib/options.h"
#include "common/base/array.h"
#include "t/lib/unit/tap.h"

#define LIST "(options: quiet, name, json, help, version)"

/* A command line; its operands, a flag and a value; or the refusal. */
static const struct {
	const char *argv[6];
	const char *operands;
	bool quiet;
	const char *name;
	const char *refusal;
} rows[] = {
	{ { "x" }, "", false, NULL, NULL },
	{ { "x", "a", "b" }, "a b", false, NULL, NULL },
	{ { "x", "-q", "a" }, "a", true, NULL, NULL },
	{ { "x", "a", "-q", "b" }, "a b", true, NULL, NULL },
	{ { "x", "--quiet" }, "", true, NULL, NULL },
	{ { "x", "--", "-q" }, "-q", false, NULL, NULL },
	{ { "x", "-", "-q" }, "-", true, NULL, NULL },
	{ { "x", "--name=v", "a" }, "a", false, "v", NULL },
	{ { "x", "--name", "v", "a" }, "a", false, "v", NULL },
	{ { "x", "--name=" }, "", false, "", NULL },
	{ { "x", "-o", "v", "a" }, "a", false, "v", NULL },
	{ { "x", "-ov" }, "", false, "v", NULL },
	{ { "x", "-qo", "v" }, "", true, "v", NULL },
	{ { "x", "-qov", "a" }, "a", true, "v", NULL },
	{ { "x", "--name", "--", "-q" }, "", true, "--", NULL },
	{ { "x", "--quiet=yes" }, NULL, 0, NULL, "--quiet takes no value" },
	{ { "x", "--name" },
	  NULL,
	  0,
	  NULL,
	  "--name takes a value: --name=NAME" },
	{ { "x", "-o" }, NULL, 0, NULL, "-o takes a value: -o NAME" },
	{ { "x", "-z" }, NULL, 0, NULL, "-z is not an option; see x --help" },
	{ { "x", "--quite" },
	  NULL,
	  0,
	  NULL,
	  "--quite is not an option; did you mean 'quiet'? " LIST },
	{ { "x", "--qui" }, NULL, 0, NULL, "--qui is not an option " LIST },
	{ { "x", "--\033[2J" },
	  NULL,
	  0,
	  NULL,
	  "--?[2J is not an option " LIST },
	{ { "x", "--=" }, NULL, 0, NULL, "-- is not an option " LIST },
};

static void join_words(char **words, int count, char *text, size_t size)
{
	text[0] = '\0';
	for (int i = 0; i < count; i++) {
		size_t used = strlen(text);

		snprintf(text + used, size - used, "%s%s", i ? " " : "",
			 words[i]);
	}
}

static void try_row(size_t i)
{
	bool quiet = false;
	bool json = false;
	const char *name = NULL;
	const struct egs_option table[] = {
		{ 'q', "quiet", &quiet, NULL, NULL, "say less" },
		{ 'o', "name", NULL, &name, "NAME", "the name" },
		{ 0, "json", &json, NULL, NULL, "print JSON" },
	};
	const struct egs_options options = { "x", NULL, 0, table,
					     ARRAY_SIZE(table) };
	char *argv[ARRAY_SIZE(rows[i].argv) + 1] = { NULL };
	struct egs_err err = { "" };
	char operands[64];
	int argc = 0;

	while (argc < (int)ARRAY_SIZE(rows[i].argv) && rows[i].argv[argc]) {
		argv[argc] = (char *)rows[i].argv[argc];
		argc++;
	}
	if (egs_options_read(&options, &argc, argv, &err) == EGS_OPTIONS_BAD) {
		is_str(err.msg, rows[i].refusal, "row %zu is refused", i);
		return;
	}
	join_words(argv, argc, operands, sizeof(operands));
	is_str(rows[i].operands, operands, "row %zu: operands are '%s'", i,
	       operands);
	ok(quiet == rows[i].quiet && !json, "row %zu: flags are set as given",
	   i);
	is_str(name, rows[i].name, "row %zu: the value is as given", i);
	ok(!argv[argc], "row %zu: operands end with NULL", i);
}

int main(void)
{
	plan_none();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		try_row(i);
	return done_testing();
}
