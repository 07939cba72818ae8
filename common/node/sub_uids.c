/* sub_uids.c - the subordinate user ids of a user */
#include <fcntl.h>
#include <linux/nsfs.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/node/proc.h"
#include "common/node/sub_uids.h"

enum { NAMESPACES_MAX = 33 /* of the kernel: user namespaces in each other */ };

/* A line is NAME:FIRST:COUNT, or UID:FIRST:COUNT. */
static void add_range(struct egs_sub_uids *all, char *line, const char *name)
{
	char *first = strchr(line, ':'), *end;
	struct egs_sub_uid_range range;

	if (!first)
		return;
	*first++ = '\0';
	if ((!name || strcmp(line, name) != 0) &&
	    (strtoul(line, &end, 10) != all->user || end == line || *end))
		return;
	range.first = (uint32_t)strtoul(first, &end, 10);
	if (*end != ':' || !range.first)
		return;
	range.count = (uint32_t)strtoul(end + 1, NULL, 10);
	if (all->n < EGS_SUB_UIDS_MAX)
		all->range[all->n++] = range;
}

void egs_sub_uids_read(struct egs_sub_uids *all, const char *path, uid_t user)
{
	const struct passwd *entry = getpwuid(user);
	FILE *f = fopen(path ? path : "/etc/subuid", "re");
	char *line = NULL;
	size_t room = 0;

	*all = (struct egs_sub_uids){ .user = user };
	while (f && getline(&line, &room, f) > 0)
		add_range(all, line, entry ? entry->pw_name : NULL);
	free(line);
	if (f)
		fclose(f);
}

/* Has the user made the user namespace of the process, or one around it?  The
 * kernel does not show a parent of our own namespace, nor that one's owner.
 */
static bool is_in_namespace_of(pid_t pid, uid_t user)
{
	char path[EGS_PROC_PATH_MAX];
	bool found = false;
	uid_t owner;
	int fd, parent;

	egs_proc_path(path, pid, "ns/user");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (int i = 0; fd >= 0 && !found && i < NAMESPACES_MAX; i++) {
		parent = ioctl(fd, NS_GET_PARENT);
		found = parent >= 0 &&
			ioctl(fd, NS_GET_OWNER_UID, &owner) == 0 &&
			owner == user;
		close(fd);
		fd = parent;
	}
	if (fd >= 0)
		close(fd);
	return found;
}

bool egs_sub_uids_have(const struct egs_sub_uids *all, pid_t pid, uid_t uid)
{
	if (!all->user)
		return false;
	for (size_t i = 0; i < all->n; i++)
		if (uid >= all->range[i].first &&
		    uid - all->range[i].first < all->range[i].count)
			return true;
	return is_in_namespace_of(pid, all->user);
}
