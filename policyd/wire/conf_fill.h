/* conf_fill.h - from the lines of an egs.conf to the rows of a configuration */
#ifndef EGS_WIRE_CONF_FILL_H
#define EGS_WIRE_CONF_FILL_H

#include "policyd/core/conf.h"
#include "policyd/wire/conf_doc.h"
#include "policyd/wire/conf_problem.h"

/* Give every item of 'doc' its meaning and put its value into 'conf', which
 * has the defaults; say what is wrong with those that have none.  Defaults
 * that follow from other values are filled in.
 */
void egs_conf_fill(struct egs_policy_conf *conf, struct egs_conf_doc *doc,
		   struct egs_conf_problems *problems);

#endif
