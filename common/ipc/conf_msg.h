/* conf_msg.h - egs.conf as tables, for egsctl show
 *
 * The daemon fills the tables from the file in force.  egsctl fills them from a
 * file that the user names.
 */
#ifndef EGS_IPC_CONF_MSG_H
#define EGS_IPC_CONF_MSG_H

#include "common/conf/conf.h"
#include "common/ipc/msg.h"

/* Put a table into 'answer': every value with its source; or which tier may
 * take GPUs from which.  Returns 0, or -1 when out of memory.
 */
int egs_show_conf_values(const struct egs_conf *conf, struct egs_msg *answer);
int egs_show_conf_tiers(const struct egs_conf *conf, struct egs_msg *answer);

#endif
