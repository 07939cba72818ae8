/* sub_uids.h - the subordinate user ids of a user
 *
 * A user may run processes under other uids: those that /etc/subuid grants, for
 * rootless containers, and all of a user namespace that the user has made.
 * Such a process is the user's, though its uid is another.
 */
#ifndef EGS_NODE_SUB_UIDS_H
#define EGS_NODE_SUB_UIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EGS_SUB_UIDS_MAX 32

struct egs_sub_uids {
	uid_t user;
	struct egs_sub_uid_range {
		uint32_t first, count;
	} range[EGS_SUB_UIDS_MAX];
	size_t n;
};

/* Read the ranges of 'user' from the file at 'path'; NULL: /etc/subuid.
 * Without such a file there are none.
 */
void egs_sub_uids_read(struct egs_sub_uids *all, const char *path, uid_t user);

/* Is the process, whose uid is 'uid', one of the user?  Processes of root in
 * the host's own user namespace are not.
 */
bool egs_sub_uids_have(const struct egs_sub_uids *all, pid_t pid, uid_t uid);

#endif
