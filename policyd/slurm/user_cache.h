/* user_cache.h - names and groups of users, for processes that may block
 *
 * The directory behind getpwuid() and getgrouplist() may be far away and slow.
 * Ten thousand jobs belong to a few dozen users.
 */
#ifndef EGS_SLURM_USER_CACHE_H
#define EGS_SLURM_USER_CACHE_H

#include <stdint.h>
#include <time.h>

/* How long an answer is used. */
#define EGS_USER_CACHE_TTL_S 600

/* The name of 'uid', or NULL if there is no such user.  slurmctld sends the
 * name of a job's user only if it is configured to, and the number always.
 * Borrowed until the next call for this user.
 */
const char *egs_user_cache_name(uint32_t uid, time_t now);

/* The groups of 'user' as a list "a,b", or NULL if there is no such user.
 * Borrowed until the next call for this user.
 */
const char *egs_user_cache_groups(const char *user, time_t now);

#endif
