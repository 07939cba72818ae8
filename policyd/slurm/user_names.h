/* user_names.h - the names of users, for the worker only: it may block
 *
 * slurmctld tells a job's user by name only where it is asked to send it along,
 * by number always.
 */
#ifndef EGS_SLURM_USER_NAMES_H
#define EGS_SLURM_USER_NAMES_H

#include <stdint.h>
#include <time.h>

/* How long an answer is believed. */
#define EGS_USER_NAMES_TTL_S 600

/* The name of 'uid', or NULL if there is no such user.  Borrowed until the
 * next call.
 */
const char *egs_user_names_get(uint32_t uid, time_t now);

#endif
