/* node_gpu_users.c - nodes report which processes have GPUs open
 *
 * A node answers a GPU scan before a job gives back GPUs (resize.h).  A node
 * also reports a process of another job on a GPU of a job that starts.  'egs
 * why' shows this report to the owner of the process.  If the process cannot be
 * ended, the daemon fences the node.  A node that cannot look says so.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "policyd/requests/node.h"
#include "policyd/requests/remediate.h"
#include "policyd/requests/resize.h"
#include "policyd/server/rate_limit.h"

enum {
	UNCLEAN_COLUMNS = 5,
	UNCLEAN_ROWS_MAX = 64,
};

static int read_number(const struct egs_msg *request, const char *key,
		       uint32_t *value)
{
	int64_t n;

	if (!egs_msg_get_int(request, key, &n) || n < 0 || n > UINT32_MAX)
		return -1;
	*value = (uint32_t)n;
	return 0;
}

/* Read the open GPUs as bits, and a text about the first open GPU. */
static int read_gpu_users(const struct egs_msg *request, const char *node,
			  uint64_t *open, struct egs_err *who,
			  struct egs_err *err)
{
	size_t columns, rows;
	bool number;

	*open = 0;
	if (egs_msg_check_table(request, &columns, &rows, err) < 0)
		return -1;
	for (size_t i = 0; columns == 2 && i < rows; i++) {
		unsigned long card = strtoul(
			egs_msg_get_cell(request, i, 0, &number), NULL, 10);

		if (card > 63)
			continue;
		if (!*open)
			egs_errf(who, "%s has GPU %lu of %s open",
				 egs_msg_get_cell(request, i, 1, &number), card,
				 node);
		*open |= UINT64_C(1) << card;
	}
	return 0;
}

int egs_verb_node_open(void *arg, const struct egs_peer *peer,
		       const struct egs_msg *request, struct egs_msg *answer,
		       struct egs_err *err)
{
	struct egs_daemon *d = arg;
	struct egs_err who = { "" };
	struct egs_node_use use = { .mem_mb = EGS_MEM_UNKNOWN };
	uint32_t job_id, look;
	int64_t node;

	(void)answer;
	if (egs_requests_check_synced(d, err) < 0)
		return -1;
	node = egs_nodes_identify(d, peer, request, err);
	if (node < 0)
		return (int)node;
	if (read_number(request, "job", &job_id) < 0 ||
	    read_number(request, "look", &look) < 0)
		return egs_errf(err, "node-open needs job, look and a table");
	if (egs_msg_get_str(request, "error")) {
		egs_resize_fail_gpu_scan(d, job_id, look, (uint32_t)node,
					 egs_msg_get_str(request, "error"));
		return 0;
	}
	if (read_gpu_users(request, egs_msg_get_str(request, "node"),
			   &use.open_gpus, &who, err) < 0)
		return -1;
	read_number(request, "mem_mb", &use.mem_mb);
	egs_resize_add_gpu_users(d, job_id, look, (uint32_t)node, &use, &who);
	return 0;
}

/* ---- a job starts on a GPU that is in use ---- */

/* A process on a GPU of a starting job. */
struct gpu_intruder {
	uint32_t card, job_id, uid;
	bool stays;
	struct egs_err what;
};

/* A process can claim any job.  Only the owner of the process can be blamed. */
static const struct egs_job *find_blamed_job(const struct egs_daemon *d,
					     const struct gpu_intruder *who)
{
	const struct egs_job *j =
		who->job_id ? egs_policy_job(d->policy, who->job_id) : NULL;

	return j && j->ident.uid == who->uid ? j : NULL;
}

static int log_for_owner(struct egs_daemon *d, const struct gpu_intruder *who,
			 struct egs_err *err)
{
	const struct egs_job *j = find_blamed_job(d, who);

	if (!egs_rate_limit_take(d->requests->rate_limit, who->uid,
				 EGS_RATE_UNCLEAN, 1, egs_daemon_now()))
		return 0;
	egs_log_warn("%s", who->what.msg);
	if (!j)
		return 0;
	if (egs_daemon_log_event(d, &j->ident, "unclean", "egs-noded",
				 who->what.msg, err) < 0)
		return -1;
	return egs_daemon_commit(d, err);
}

static int fence_for(struct egs_daemon *d, const char *node,
		     const struct gpu_intruder *who, struct egs_err *err)
{
	if (!who->stays)
		return 0;
	egs_remediate_lose_fence(d, node);
	if (egs_daemon_is_fenced(d, node))
		return 0;
	if (egs_daemon_fence_node(d, node, true, "egs-noded", who->what.msg,
				  err) < 0)
		return -1;
	egs_log_error("node %s: fenced=yes, set by egs-noded: %s", node,
		      who->what.msg);
	return 0;
}

static uint32_t read_cell(const struct egs_msg *request, size_t row,
			  size_t column)
{
	bool number;

	return (uint32_t)strtoul(
		egs_msg_get_cell(request, row, column, &number), NULL, 10);
}

static struct gpu_intruder read_intruder(const struct egs_msg *request,
					 size_t row, uint32_t starts)
{
	struct gpu_intruder who = {
		.card = read_cell(request, row, 0),
		.job_id = read_cell(request, row, 2),
		.uid = read_cell(request, row, 3),
		.stays = read_cell(request, row, 4) != 0,
	};
	bool number;

	egs_errf(&who.what,
		 "node %s: %s has GPU %" PRIu32
		 " open, which belongs to job %" PRIu32 " now",
		 egs_msg_get_str(request, "node"),
		 egs_msg_get_cell(request, row, 1, &number), who.card, starts);
	return who;
}

int egs_verb_node_unclean(void *arg, const struct egs_peer *peer,
			  const struct egs_msg *request, struct egs_msg *answer,
			  struct egs_err *err)
{
	struct egs_daemon *d = arg;
	const char *name = egs_msg_get_str(request, "node");
	size_t columns, rows;
	uint32_t starts;
	int64_t node;

	(void)answer;
	if (egs_requests_check_synced(d, err) < 0)
		return EGS_REPLY_RETRY;
	node = egs_nodes_identify(d, peer, request, err);
	if (node < 0)
		return (int)node;
	if (read_number(request, "for", &starts) < 0 ||
	    egs_msg_check_table(request, &columns, &rows, err) < 0 ||
	    columns != UNCLEAN_COLUMNS)
		return egs_errf(err, "node-unclean needs 'for' and a table of "
				     "5 columns");
	for (size_t i = 0; i < rows && i < UNCLEAN_ROWS_MAX; i++) {
		struct gpu_intruder who = read_intruder(request, i, starts);

		if (log_for_owner(d, &who, err) < 0 ||
		    fence_for(d, name, &who, err) < 0)
			return EGS_REPLY_RETRY;
	}
	return 0;
}
