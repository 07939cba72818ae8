/* verbs.h - the verbs of egsctl that the daemon answers */
#ifndef EGS_EGSCTL_VERBS_H
#define EGS_EGSCTL_VERBS_H

#include "cmd/egsctl/egsctl.h"

/* Each takes the verb, or the subject of show, and the words behind it, and
 * returns the exit code.
 */
int egsctl_show(const char *name, char **operands, const struct egsctl *ctl);
int egsctl_update(const char *name, char **operands, const struct egsctl *ctl);
int egsctl_mode(const char *name, char **operands, const struct egsctl *ctl);

/* A verb about one job, with a reason. */
int egsctl_about(const char *name, char **operands, const struct egsctl *ctl);

/* Verbs without operands, and those of them that need a reason. */
int egsctl_plain(const char *name, char **operands, const struct egsctl *ctl);
int egsctl_explained(const char *name, char **operands,
		     const struct egsctl *ctl);

#endif
