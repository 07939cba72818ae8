/* as_user.c - do something to files as another user
 *
 * The kernel takes root's powers over files away with the identity, and gives
 * them back with root's.
 */
#include <sys/fsuid.h>
#include <unistd.h>

#include "common/node/as_user.h"

void egs_as_user_begin(uid_t uid, gid_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
}

void egs_as_user_end(void)
{
	setfsuid(geteuid());
	setfsgid(getegid());
}
