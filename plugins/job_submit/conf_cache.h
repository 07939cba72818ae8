/* conf_cache.h - the current egs.conf, inside slurmctld */
#ifndef EGS_JOB_SUBMIT_CONF_CACHE_H
#define EGS_JOB_SUBMIT_CONF_CACHE_H

#include "common/conf/policy_conf.h"

/* The values of egs.conf, valid until egs_conf_cache_unlock(); NULL if there is
 * no such file.  The file is checked at most once a second and read again if it
 * changed.  A file with mistakes is logged, and the last good one stays in
 * effect.
 */
const struct egs_policy_conf *egs_conf_cache_lock(void);
void egs_conf_cache_unlock(void);

void egs_conf_cache_free(void);

#endif
