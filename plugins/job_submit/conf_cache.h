/* conf_cache.h - egs.conf as it is now, inside slurmctld */
#ifndef EGS_JOB_SUBMIT_CONF_CACHE_H
#define EGS_JOB_SUBMIT_CONF_CACHE_H

#include "common/conf/policy_conf.h"

/* The values in force until egs_conf_cache_unlock(), or NULL where there is no
 * egs.conf.  The file is looked at no more than once in a second, and read when
 * it is another than before; one with mistakes is logged, and the last good one
 * stays in force.
 */
const struct egs_policy_conf *egs_conf_cache_lock(void);
void egs_conf_cache_unlock(void);

void egs_conf_cache_free(void);

#endif
