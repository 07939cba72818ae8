/* as_user.h - do something to files as another user */
#ifndef EGS_NODE_AS_USER_H
#define EGS_NODE_AS_USER_H

#include <sys/types.h>

/* From here on the file system sees 'uid' and 'gid', without root's powers;
 * until egs_as_user_end().
 */
void egs_as_user_begin(uid_t uid, gid_t gid);
void egs_as_user_end(void);

#endif
