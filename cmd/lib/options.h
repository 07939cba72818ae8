/* options.h - the options of a command, read by a table
 *
 * Options and operands may be mixed: -n, --name, -pVALUE and --name=VALUE.  All
 * words after "--" are operands.  Short flags may be written together (-nP).
 * Every command has -h (--help) and -V (--version) without a row in its table.
 */
#ifndef EGS_LIB_OPTIONS_H
#define EGS_LIB_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/base/err.h"

/* A verb of the command, as --help shows it.  'usage' has lines without the
 * name of the command; 'about' is what the man page says first.  A row without
 * a name is only a line of usage.
 */
struct egs_verb_help {
	const char *name, *usage;
	const char *about, *example; /* lines */
};

/* Exactly one of 'flag' and 'value' is set when the option is given.  A help
 * "a, b: text" is for the verbs a and b.
 */
struct egs_option {
	char letter; /* 0: none */
	const char *name;
	bool *flag;
	const char **value;   /* borrowed from argv */
	const char *argument; /* name of the value in --help */
	const char *help;
};

struct egs_options {
	const char *command;
	const struct egs_verb_help *verbs;
	size_t nverbs;
	const struct egs_option *rows;
	size_t count;
};

enum egs_options_result {
	EGS_OPTIONS_RUN,  /* the command runs */
	EGS_OPTIONS_DONE, /* --help or --version was printed */
	EGS_OPTIONS_BAD,  /* refused: 'err' is set */
};

/* Read argv[1] and on.  --help with a verb explains that verb.  Operands move
 * to argv[0] and on, in their order, and
 * '*argc' becomes their number.
 */
enum egs_options_result egs_options_read(const struct egs_options *options,
					 int *argc, char **argv,
					 struct egs_err *err);

#endif
