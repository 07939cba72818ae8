/* fence.c - fenced nodes: no managed job starts there
 *
 * An operator fences a node; egs-noded does, if a GPU cannot be cleaned.
 * The list is saved and outlives the daemon.  For the policy a fenced node has
 * no GPUs, and select/egs starts no managed job on it.
 *
 * Rules about GPUs avoid a node (policyd/requests/remediate.h).  select/egs
 * treats it as a fenced one, but its GPUs count for quotas.
 */
#include <stdio.h>
#include <string.h>

#include "policyd/daemon/daemon.h"

/* The list is ",n1,n2," so that strstr() finds only whole names. */
static const char *find_in_list(const char *list, const char *name)
{
	char word[EGS_TABLE_NAME_SIZE + 3];

	snprintf(word, sizeof(word), ",%s,", name);
	return strstr(list, word);
}

bool egs_daemon_is_fenced(const struct egs_daemon *d, const char *node)
{
	return find_in_list(d->fenced, node) != NULL;
}

static int add_to_list(char *list, const char *name, struct egs_err *err)
{
	size_t used = strlen(list);

	if (used + strlen(name) + 3 > EGS_FENCED_MAX)
		return egs_errf(err,
				"too many nodes are fenced or avoided already");
	snprintf(list + used, EGS_FENCED_MAX - used, "%s%s,", used ? "" : ",",
		 name);
	return 0;
}

static void drop_from_list(char *list, const char *name)
{
	char *at = list + (find_in_list(list, name) - list);
	const char *rest = at + strlen(name) + 1;

	memmove(at, rest, strlen(rest) + 1);
	if (strcmp(list, ",") == 0)
		*list = '\0';
}

int egs_daemon_fence_node(struct egs_daemon *d, const char *name, bool fenced,
			  const char *who, const char *reason,
			  struct egs_err *err)
{
	char list[EGS_FENCED_MAX];
	struct egs_err event;

	memcpy(list, d->fenced, sizeof(list));
	if (fenced && !egs_daemon_is_fenced(d, name) &&
	    add_to_list(list, name, err) < 0)
		return -1;
	if (!fenced && egs_daemon_is_fenced(d, name))
		drop_from_list(list, name);
	egs_errf(&event, "node %s fenced=%s", name, fenced ? "yes" : "no");
	if (egs_daemon_save_value(d, "fenced", *list ? list : NULL, err) < 0 ||
	    egs_daemon_log_event(d, NULL, event.msg, who, reason, err) < 0 ||
	    egs_daemon_commit(d, err) < 0)
		return -1;
	memcpy(d->fenced, list, sizeof(d->fenced));
	egs_daemon_changed(d, EGS_CHANGED_NODES | EGS_CHANGED_CLUSTER);
	egs_daemon_publish_nodes(d);
	egs_daemon_poll_in(d, 0);
	return 0;
}

bool egs_daemon_is_avoided(const struct egs_daemon *d, const char *node)
{
	return find_in_list(d->avoided, node) != NULL;
}

int egs_daemon_avoid_node(struct egs_daemon *d, const char *name, bool avoided,
			  struct egs_err *err)
{
	if (egs_daemon_is_avoided(d, name) == avoided)
		return 0;
	if (avoided && add_to_list(d->avoided, name, err) < 0)
		return -1;
	if (!avoided)
		drop_from_list(d->avoided, name);
	egs_daemon_publish_nodes(d);
	return 0;
}
