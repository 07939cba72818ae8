/* user_groups.h - the groups of users, for processes that may block */
#ifndef EGS_SLURM_USER_GROUPS_H
#define EGS_SLURM_USER_GROUPS_H

#include <time.h>

/* How long an answer is believed. */
#define EGS_USER_GROUPS_TTL_S 600

/* The groups of 'user' as a list "a,b", or NULL if there is no such user.
 * Borrowed until the next call.
 */
const char *egs_user_groups_get(const char *user, time_t now);

#endif
