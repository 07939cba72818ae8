/* op_fence.c - an operator fences a node, or removes the fence */
#include <string.h>

#include "common/base/log.h"
#include "policyd/requests/remediate.h"

/* Returns whether to fence node 'name', or -1 with 'err' set. */
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
	return egs_errf(err, "node %s: use fenced=yes or fenced=no", *name);
}

int egs_requests_fence_node(struct egs_daemon *d, const struct egs_peer *peer,
			    const struct egs_msg *request,
			    struct egs_msg *answer, struct egs_err *err)
{
	const char *who = egs_requests_caller_name(d, peer);
	const char *name, *reason;
	struct egs_err clean, text;
	int fence = read_request(d, request, &name, err);

	if (fence < 0 ||
	    !(reason = egs_requests_read_reason(request, &clean, err)) ||
	    egs_daemon_fence_node(d, name, fence, who, reason, err) < 0)
		return -1;
	egs_remediate_lose_fence(d, name);
	egs_errf(&text, "node %s: fenced=%s, set by %s: %s", name,
		 fence ? "yes" : "no", who, reason);
	egs_log_info("%s", text.msg);
	egs_msg_set_str(answer, "message", text.msg);
	return 0;
}
