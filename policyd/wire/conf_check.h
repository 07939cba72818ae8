/* conf_check.h - do the values of an egs.conf go together?
 *
 * Each value is right by itself when this is asked.
 */
#ifndef EGS_WIRE_CONF_CHECK_H
#define EGS_WIRE_CONF_CHECK_H

#include "policyd/core/conf.h"
#include "policyd/wire/conf_doc.h"
#include "policyd/wire/conf_problem.h"

/* Say what contradicts what in a configuration that egs_conf_fill() made of
 * 'doc' without a problem.
 */
void egs_conf_check(const struct egs_policy_conf *conf,
		    const struct egs_conf_doc *doc,
		    struct egs_conf_problems *problems);

#endif
