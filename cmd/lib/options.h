/* options.h - the options of a command, read by a table
 *
 * -n, --name, -pVALUE, --name=VALUE and "--", in any order with the operands;
 * short flags may be written together (-nP).  Every command has --help (-h)
 * and --version (-V) without a row for them.
 */
#ifndef EGS_LIB_OPTIONS_H
#define EGS_LIB_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/base/err.h"

/* 'flag' or 'value' says where it goes. */
struct egs_option {
	char letter; /* 0: none */
	const char *name;
	bool *flag;
	const char **value;   /* borrowed from argv */
	const char *argument; /* what the value is called in --help */
	const char *help;
};

struct egs_options {
	const char *command;
	const char *usage; /* lines, each after the command's name */
	const struct egs_option *rows;
	size_t count;
};

/* What is to be done after the options were read. */
enum egs_options_result {
	EGS_OPTIONS_RUN,
	EGS_OPTIONS_DONE, /* --help or --version, which has been printed */
	EGS_OPTIONS_BAD,  /* 'err' says why */
};

/* Read argv[1] and on.  What is no option is moved to argv[0] and on, in its
 * order, and '*argc' is their number.
 */
enum egs_options_result egs_options_read(const struct egs_options *options,
					 int *argc, char **argv,
					 struct egs_err *err);

#endif
