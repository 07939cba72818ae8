/* verbs.h - the verbs of egsctl that the daemon answers */
#ifndef EGS_EGSCTL_VERBS_H
#define EGS_EGSCTL_VERBS_H

#include "cmd/egsctl/egsctl.h"

/* Each takes the verb, or the subject of show, and the words behind it, and
 * returns the exit code.
 */
int egsctl_run_show(const char *name, char **operands,
		    const struct egsctl_options *ctl);
int egsctl_run_update(const char *name, char **operands,
		      const struct egsctl_options *ctl);
int egsctl_run_mode(const char *name, char **operands,
		    const struct egsctl_options *ctl);

/* A verb about one job, with a reason. */
int egsctl_run_job_verb(const char *name, char **operands,
			const struct egsctl_options *ctl);

/* Verbs without operands, and those of them that need a reason. */
int egsctl_run_plain(const char *name, char **operands,
		     const struct egsctl_options *ctl);
int egsctl_run_with_reason(const char *name, char **operands,
			   const struct egsctl_options *ctl);

#endif
