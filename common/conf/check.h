/* check.h - do the values of an egs.conf go together?
 *
 * Each value is right by itself when this is asked.
 */
#ifndef EGS_CONF_CHECK_H
#define EGS_CONF_CHECK_H

#include "common/conf/document.h"
#include "common/conf/policy_conf.h"
#include "common/conf/problems.h"

/* Say what contradicts what in a configuration that egs_conf_apply() made of
 * 'doc' without a problem.
 */
void egs_conf_check(const struct egs_policy_conf *conf,
		    const struct egs_conf_doc *doc,
		    struct egs_conf_problems *problems);

#endif
