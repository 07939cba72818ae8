/* trust.h - whose answers a client believes: those of root and SlurmUser
 *
 * egs-policyd runs as SlurmUser.  Its port and the name of its socket are open
 * to any user while it does not run, so an answer counts only with a uid that
 * MUNGE or the kernel vouches for.
 */
#ifndef EGS_IPC_TRUST_H
#define EGS_IPC_TRUST_H

#include <sys/types.h>

#include "common/base/err.h"

/* The uid of a user, given as a name or a number; (uid_t)-1: there is none. */
uid_t egs_trust_find_uid(const char *user);

/* Is 'uid' root or 'slurm_user', a name or a number?  NULL or "": SlurmUser is
 * not known, and only root is trusted.  Returns 0, or -1 with 'err' set: a
 * clause about an answer.  The lookup of a name may block.
 */
int egs_trust_check(uid_t uid, const char *slurm_user, struct egs_err *err);

#endif
