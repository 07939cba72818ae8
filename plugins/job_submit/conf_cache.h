/* conf_cache.h - the current egs.conf, inside slurmctld
 *
 * Callers hold slurmctld's locks, and /etc/slurm may be on a file server that
 * hangs.  So a thread of the plugin reads the file; a caller gets what was read
 * last and never waits for a file.
 */
#ifndef EGS_JOB_SUBMIT_CONF_CACHE_H
#define EGS_JOB_SUBMIT_CONF_CACHE_H

#include "common/conf/policy_conf.h"

/* Read the file now, and start the thread that reads it again when it changes.
 * A second call does nothing.
 */
void egs_conf_cache_start(void);

/* The last good file, or NULL if there is none.  Each call is followed by
 * egs_conf_cache_unlock(), until which the file stays as it is.
 */
const struct egs_policy_conf *egs_conf_cache_lock(void);
void egs_conf_cache_unlock(void);

/* Stop the thread and free the file. */
void egs_conf_cache_stop(void);

#endif
