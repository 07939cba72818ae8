/* top.h - the live view in a terminal */
#ifndef EGS_EGSCTL_TOP_H
#define EGS_EGSCTL_TOP_H

#include "cmd/egsctl/egsctl.h"

/* The verb "top"; returns the exit code. */
int egsctl_run_top(const char *name, char **operands,
		   const struct egsctl_options *ctl);

#endif
