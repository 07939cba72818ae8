/* verbs.h - the verbs of egsctl that the daemon answers */
#ifndef EGS_EGSCTL_VERBS_H
#define EGS_EGSCTL_VERBS_H

#include "cmd/egsctl/egsctl.h"

/* 'name' is the verb, or the subject of show; 'operands' follow it.  Each
 * returns the exit code.
 */
int egsctl_run_show(const char *name, char **operands,
		    const struct egsctl_options *ctl);
int egsctl_run_update(const char *name, char **operands,
		      const struct egsctl_options *ctl);
int egsctl_run_metrics(const char *name, char **operands,
		       const struct egsctl_options *ctl);
int egsctl_run_mode(const char *name, char **operands,
		    const struct egsctl_options *ctl);

/* The verbs abort, hold and release, with job= or workload=.  On a terminal
 * they list the jobs and ask first.
 */
int egsctl_run_abort(const char *name, char **operands,
		     const struct egsctl_options *ctl);

/* A verb with a job and a reason. */
int egsctl_run_job_verb(const char *name, char **operands,
			const struct egsctl_options *ctl);

/* Verbs without operands; the second needs a reason. */
int egsctl_run_plain(const char *name, char **operands,
		     const struct egsctl_options *ctl);
int egsctl_run_with_reason(const char *name, char **operands,
			   const struct egsctl_options *ctl);

#endif
