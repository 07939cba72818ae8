/* values_gpus.h - GPUs by type: type:N[,type:N], or N where there is one type
 *
 * Readers follow values.h: 0, or -1 and a predicate in 'err'.
 */
#ifndef EGS_CONF_VALUES_GPUS_H
#define EGS_CONF_VALUES_GPUS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/err.h"
#include "common/conf/policy_conf.h"

/* Read 'text' into a row per type; types it does not name get 'absent'.  Where
 * 'closed', the file has GpuType= records and a type must be one of them;
 * else a new type is added to 'conf', which for a plain N is the type "".
 */
int egs_conf_read_gpus(struct egs_policy_conf *conf, const char *text,
		       bool closed, uint32_t absent,
		       uint32_t out[EGS_TYPE_ROWS], struct egs_err *err);

/* Write what is not 'absent'; true if there was any. */
bool egs_conf_write_gpus(const struct egs_policy_conf *conf,
			 const uint32_t gpus[EGS_TYPE_ROWS], uint32_t absent,
			 FILE *out);

#endif
