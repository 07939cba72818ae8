/* conf_msg.h - egs.conf as tables: what egsctl show prints of it
 *
 * The daemon answers with them for the file in force, egsctl fills them itself
 * from a file that it is given.
 */
#ifndef EGS_IPC_CONF_MSG_H
#define EGS_IPC_CONF_MSG_H

#include "common/conf/conf.h"
#include "common/ipc/msg.h"

/* Put a table into 'answer': every value with its source; or who takes GPUs
 * from whom.  0, or -1 when out of memory.
 */
int egs_show_conf_values(const struct egs_conf *conf, struct egs_msg *answer);
int egs_show_conf_tiers(const struct egs_conf *conf, struct egs_msg *answer);

#endif
