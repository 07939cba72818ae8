/* apply.h - from the lines of an egs.conf to the rows of a configuration */
#ifndef EGS_CONF_APPLY_H
#define EGS_CONF_APPLY_H

#include "common/conf/document.h"
#include "common/conf/policy_conf.h"
#include "common/conf/problems.h"

/* Give every item of 'doc' its meaning and put its value into 'conf', which
 * has the defaults; say what is wrong with those that have none.  Defaults
 * that follow from other values are filled in.
 */
void egs_conf_apply(struct egs_policy_conf *conf, struct egs_conf_doc *doc,
		    struct egs_conf_problems *problems);

#endif
