/* op_fence.c - fenced nodes: nobody new is to run there
 *
 * An operator says so, or egs-noded of a node with a GPU that cannot be
 * cleaned; it is kept, and outlives daemons.  A fenced node has no
 * GPUs for the policy, and select/egs starts no managed job on it.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "policyd/requests/requests.h"

/* The list is ",n1,n2," so that a name is found between commas. */
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
		return egs_errf(err, "too many nodes are fenced already");
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

/* The name and whether it is to be fenced; -1 with 'err' set. */
static int read_request(const struct egs_daemon *d,
			const struct egs_msg *request, const char **name,
			struct egs_err *err)
{
	const char *fenced = egs_msg_get_str(request, "fenced");

	*name = egs_msg_get_str(request, "node");
	if (egs_requests_check_synced(d, err) < 0)
		return -1;
	if (strlen(*name) >= EGS_TABLE_NAME_SIZE || strchr(*name, ',') ||
	    egs_cluster_find_node(d->cluster, *name) < 0)
		return egs_errf(err, "node %s is not known to Slurm",
				egs_printable(*name).text);
	if (fenced && strcmp(fenced, "yes") == 0)
		return 1;
	if (fenced && strcmp(fenced, "no") == 0)
		return 0;
	return egs_errf(err, "node %s: say fenced=yes or fenced=no", *name);
}

/* On disk, then in force. */
static int save_fenced(struct egs_daemon *d, const char *list, const char *what,
		       const char *who, const char *reason, struct egs_err *err)
{
	if (egs_daemon_save_value(d, "fenced", *list ? list : NULL, err) < 0 ||
	    egs_daemon_log_event(d, NULL, what, who, reason, err) < 0 ||
	    egs_daemon_commit(d, err) < 0)
		return -1;
	memcpy(d->fenced, list, sizeof(d->fenced));
	d->full_poll = d->node_marks_changed = true;
	egs_daemon_publish_nodes(d);
	egs_daemon_poll_in(d, 0);
	return 0;
}

int egs_daemon_fence_node(struct egs_daemon *d, const char *name,
			  const char *reason, struct egs_err *err)
{
	char list[EGS_FENCED_MAX];
	struct egs_err what;

	snprintf(list, sizeof(list), "%s", d->fenced);
	if (find_in_list(list, name))
		return 0;
	if (add_to_list(list, name, err) < 0)
		return -1;
	egs_errf(&what, "node %s fenced=yes", name);
	if (save_fenced(d, list, what.msg, "egs-noded", reason, err) < 0)
		return -1;
	egs_log_error("node %s: fenced=yes, set by egs-noded: %s", name,
		      reason);
	return 0;
}

int egs_requests_fence_node(struct egs_daemon *d, const struct egs_peer *peer,
			    const struct egs_msg *request,
			    struct egs_msg *answer, struct egs_err *err)
{
	char list[EGS_FENCED_MAX];
	struct egs_err clean, what;
	const char *name, *reason;
	int fence = read_request(d, request, &name, err);

	if (fence < 0 ||
	    !(reason = egs_requests_read_reason(request, &clean, err)))
		return -1;
	snprintf(list, sizeof(list), "%s", d->fenced);
	if (fence && !find_in_list(list, name) &&
	    add_to_list(list, name, err) < 0)
		return -1;
	if (!fence && find_in_list(list, name))
		drop_from_list(list, name);
	egs_errf(&what, "node %s fenced=%s", name, fence ? "yes" : "no");
	if (save_fenced(d, list, what.msg, egs_requests_caller_name(d, peer),
			reason, err) < 0)
		return -1;
	egs_errf(&what, "node %s: fenced=%s, set by %s: %s", name,
		 fence ? "yes" : "no", egs_requests_caller_name(d, peer),
		 reason);
	egs_log_info("%s", what.msg);
	egs_msg_set_str(answer, "message", what.msg);
	return 0;
}
